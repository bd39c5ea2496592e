/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.memory.SimulatedRecords;
import io.lockkeeper.store.StoreListener;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The server of a simulation: runs scripts one after the other on its own clock, stands still, fails over. */
final class SimulatedServer {

    private static final long EPOCH_MICROS = 1_700_000_000_000_000L;
    private static final int CLIENT_ID_LENGTH = 12;

    final SimulatedRecords records = new SimulatedRecords(this::tell);
    private final VirtualTime time;
    private final Map<String, SimulatedStore> clients = new HashMap<>();
    private final Map<String, Integer> arrivals = new HashMap<>();

    /** Whether an attempt held its locks when the first command came that was to end its hold. */
    private final Map<String, Boolean> endings = new HashMap<>();

    /** Whether a copy of a hand-over has run. */
    boolean handedOverAgain;

    /** Whether a copy of a question has got a place after the release of what the other one got. */
    boolean placedAgain;

    private Map<String, Object> replica = Map.of();
    private long pausedUntil;
    private long downUntil;
    private long stepMicros;
    private long lastMicros;

    SimulatedServer(VirtualTime time) {
        this.time = time;
    }

    /** An attempt asks for the first time. */
    void arrived(String attempt) {
        arrivals.putIfAbsent(attempt, arrivals.size() + 1);
    }

    /** Returns as the how manieth an attempt asked for the first time. */
    int arrival(String attempt) {
        return arrivals.getOrDefault(attempt, 0);
    }

    int arrivals() {
        return arrivals.size();
    }

    /** A command that is to end the hold of an attempt has run, and has found the hold or has not. */
    void ends(String attempt, boolean held) {
        endings.putIfAbsent(attempt, held);
    }

    /** Returns whether the hold of an attempt had ended in another way before the first command that was to end it. */
    boolean hasLost(String attempt) {
        return !endings.getOrDefault(attempt, true);
    }

    /** Returns whether the first command that was to end the hold of an attempt has ended it. */
    boolean hasReleased(String attempt) {
        return endings.getOrDefault(attempt, false);
    }

    void join(String clientId, SimulatedStore client) {
        clients.put(clientId, client);
    }

    /** Returns the server's clock; two commands never see the same time. */
    long micros() {
        lastMicros = Math.max(lastMicros + 1, EPOCH_MICROS + stepMicros + time.now() / 1_000);
        return lastMicros;
    }

    /** A command arrives after a while. */
    void arrive(long nanos, Runnable script) {
        time.after(nanos, () -> run(script));
    }

    private void run(Runnable script) {
        if (time.now() < pausedUntil) {
            time.at(pausedUntil, () -> run(script));
        } else if (time.now() >= downUntil) {
            script.run();
        }
    }

    private void tell(String attempt, Consumer<StoreListener> message) {
        SimulatedStore client = clients.get(attempt.substring(0, CLIENT_ID_LENGTH));
        if (client != null) {
            client.message(message);
        }
    }

    void pause(long millis) {
        pausedUntil = Math.max(pausedUntil, time.now() + millis * 1_000_000);
    }

    /** Returns until when it stands still, or is down, or was last. */
    long troubledUntil() {
        return Math.max(pausedUntil, downUntil);
    }

    void step(long millis) {
        stepMicros += millis * 1_000;
        lastMicros = 0;
    }

    /** The replica has all writes until now. */
    void replicate() {
        replica = records.snapshot();
    }

    /** The replica takes over after a while; returns the names whose last writes are lost. */
    Set<String> failOver(long downMillis) {
        downUntil = Math.max(downUntil, time.now() + downMillis * 1_000_000);
        pausedUntil = 0;
        return records.restore(replica);
    }
}
