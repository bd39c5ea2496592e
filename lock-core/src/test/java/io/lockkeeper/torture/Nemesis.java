/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisRequest;
import io.lockkeeper.testing.RedisServer;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** Does what was planned to the workers, to their ways to the server, and to the server; keeps when it did. */
final class Nemesis implements AutoCloseable {

    /** Some time after a fault connections come up again. */
    private static final Duration RECOVERY = Duration.ofMillis(400);

    private static final Duration LATE = Duration.ofMillis(600);
    private static final Predicate<RedisRequest> SOME_SCRIPTS = RedisRequest.command("EVALSHA", "EVAL")
            .and(request -> ThreadLocalRandom.current().nextInt(3) == 0);

    private final RedisServer server;
    private final List<FaultProxy> networks;
    private final List<WorkerProcess> workers;
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1, Nemesis::thread);

    /** As many as needed: a fault that waits for a stopped server must not keep that from going on. */
    private final ExecutorService threads = Executors.newCachedThreadPool(Nemesis::thread);

    private final List<Window> windows = new CopyOnWriteArrayList<>();
    private final Map<FaultKind, Integer> done = new EnumMap<>(FaultKind.class);
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    Nemesis(RedisServer server, List<FaultProxy> networks, List<WorkerProcess> workers) {
        this.server = server;
        this.networks = networks;
        this.workers = workers;
    }

    private static Thread thread(Runnable task) {
        Thread thread = new Thread(task, "nemesis");
        thread.setDaemon(true);
        return thread;
    }

    /** Does all of a plan, and returns when that is over. */
    CompletableFuture<Void> carryOut(List<PlannedFault> plan) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (PlannedFault fault : plan) {
            CompletableFuture<Void> over = new CompletableFuture<>();
            all.add(over);
            later(fault.at(), () -> begin(fault, over));
        }
        return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new));
    }

    private void begin(PlannedFault fault, CompletableFuture<Void> over) {
        long from = System.nanoTime();
        Runnable undo = () -> {};
        try {
            undo = inflict(fault);
        } catch (RuntimeException | Error failure) {
            failures.add(failure);
        }
        Runnable end = undo;
        later(fault.lasts(), () -> end(fault, from, end, over));
    }

    private void later(Duration delay, Runnable task) {
        timer.schedule(() -> threads.execute(task), delay.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Another fault may close the connection of this one. */
    private void command(String... arguments) {
        try {
            server.command(arguments);
        } catch (UncheckedIOException killed) {
            server.command(arguments);
        }
    }

    private void end(PlannedFault fault, long from, Runnable undo, CompletableFuture<Void> over) {
        try {
            undo.run();
        } catch (RuntimeException | Error failure) {
            failures.add(failure);
        } finally {
            String whom = fault.kind().ofWorker ? WorkerProcess.name(fault.worker()) : Window.ALL;
            windows.add(new Window(
                    from,
                    System.nanoTime() + RECOVERY.toNanos(),
                    whom,
                    fault.kind().name()));
            synchronized (done) {
                done.merge(fault.kind(), 1, Integer::sum);
            }
            over.complete(null);
        }
    }

    /** Begins a fault; returns what ends it. */
    private Runnable inflict(PlannedFault fault) {
        FaultProxy network = networks.get(fault.worker());
        WorkerProcess worker = workers.get(fault.worker());
        switch (fault.kind()) {
            case CUT_REPLIES -> network.when(SOME_SCRIPTS).cutReply();
            case DELAY_REPLIES -> network.when(SOME_SCRIPTS).delayReply(LATE);
            case DELAY_REQUESTS -> network.when(SOME_SCRIPTS).delayRequest(LATE);
            case DUPLICATE_REQUESTS -> network.when(SOME_SCRIPTS).duplicate();
            case LATE_COPIES -> network.when(SOME_SCRIPTS).duplicateAfter(LATE);
            case LOSE_MESSAGES -> network.loseMessages(true);
            case DROP_CONNECTIONS -> network.disconnectClients();
            case SWALLOW_REQUESTS -> {
                network.when(SOME_SCRIPTS).swallow();
                return () -> {
                    network.clear();
                    // Nothing else would tell the driver that these connections are dead
                    network.disconnectClients();
                };
            }
            case STOP_WORKER -> {
                return worker.pause();
            }
            case KILL_WORKER -> worker.replace();
            case STOP_SERVER -> {
                server.pause();
                return server::resume;
            }
            case PAUSE_CLIENTS -> command("CLIENT", "PAUSE", "" + fault.lasts().toMillis(), "ALL");
            case READ_ONLY_SERVER -> {
                // A replica of nobody keeps its data and takes no writes
                command("REPLICAOF", server.host(), "" + RedisServer.freePort());
                return () -> command("REPLICAOF", "NO", "ONE");
            }
            case FULL_SERVER -> {
                command("CONFIG", "SET", "maxmemory", "1");
                return () -> command("CONFIG", "SET", "maxmemory", "0");
            }
            case KILL_PUBSUB_CLIENTS -> command("CLIENT", "KILL", "TYPE", "pubsub");
            case KILL_NORMAL_CLIENTS -> command("CLIENT", "KILL", "TYPE", "normal");
            case FLUSH_SCRIPTS -> command("SCRIPT", "FLUSH");
        }
        return network::clear;
    }

    /** When something was wrong, and with whom. */
    List<Window> windows() {
        return List.copyOf(windows);
    }

    /** How often each fault was done. */
    Map<FaultKind, Integer> done() {
        synchronized (done) {
            return new EnumMap<>(done);
        }
    }

    /** Faults that could not be done. */
    List<Throwable> failures() {
        return List.copyOf(failures);
    }

    @Override
    public void close() {
        timer.shutdownNow();
        threads.shutdownNow();
    }
}
