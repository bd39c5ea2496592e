/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** In which order, how soon and with how many requests callers have locks, where nothing fails. */
final class SimulationOrder {

    private static final long MILLION = 1_000_000;

    /** How long a message and what follows it takes at most where nothing fails, and some more. */
    private static final long REACTION_NANOS = 5 * MILLION;

    /** How long a lock may be free while somebody waits for it. */
    private static final long VACANT_NANOS = 20 * MILLION;

    private final SimulationPlan plan;
    private final VirtualTime time;
    private final SimulatedServer server;
    private final Consumer<String> fault;
    private final boolean simple;
    private final List<SimulatedCaller> callers = new ArrayList<>();
    private final Map<String, Place> places = new HashMap<>();

    /** What has happened to one name. */
    private static final class Place {

        private int holders;
        private long freeSince;
        private int lastWriter;
        private int lastOfAll;
        private String attempt = "";
        private int contendedPasses;
    }

    SimulationOrder(SimulationPlan plan, VirtualTime time, SimulatedServer server, Consumer<String> fault) {
        this.plan = plan;
        this.time = time;
        this.server = server;
        this.fault = fault;
        this.simple = plan.steps().stream()
                .allMatch(step -> !(step instanceof SimulationPlan.Extend)
                        && (!(step instanceof SimulationPlan.Ask ask)
                                || (ask.names().size() == 1 && ask.minHoldMillis() == 0)));
    }

    private Place place(String name) {
        return places.computeIfAbsent(name, unseen -> new Place());
    }

    void asks(SimulatedCaller caller) {
        callers.add(caller);
    }

    void ends(String name) {
        Place place = place(name);
        place.holders--;
        place.freeSince = time.now();
    }

    void begins(SimulatedCaller caller, ManagedLease lease) {
        if (caller.ask.names().size() == 1) {
            Place place = place(caller.ask.names().get(0));
            StoreHold hold = lease.hold();
            vacancy(caller, place);
            localOrder(caller);
            order(caller, place, server.arrival(hold.attempt()));
            passes(caller, place, hold);
            joins(caller, hold);
        }
        caller.ask.names().forEach(name -> place(name).holders++);
    }

    private void vacancy(SimulatedCaller caller, Place place) {
        long vacant = time.now() - Math.max(place.freeSince, caller.askedAt);
        if (simple && place.holders == 0 && caller.ask.retries() == 0 && vacant > VACANT_NANOS) {
            fault.accept("the lock was free for " + vacant / MILLION + " ms while there waited " + caller);
        }
    }

    /** Callers of one instance who ask for the same have it in the order in which they asked. */
    private void localOrder(SimulatedCaller caller) {
        if (caller.ask.mode() == LockMode.READ || caller.ask.mode() == LockMode.WRITE || !isOrdered(caller)) {
            return;
        }
        for (SimulatedCaller other : callers) {
            if (other == caller) {
                return;
            }
            if (other.instance == caller.instance
                    && other.ask.mode() == caller.ask.mode()
                    && other.ask.names().equals(caller.ask.names())
                    && isWaiting(other)
                    && isOrdered(other)) {
                fault.accept(caller + " comes before " + other);
            }
        }
    }

    private static boolean isOrdered(SimulatedCaller caller) {
        SimulationPlan.Ask ask = caller.ask;
        boolean fair = ask.mode() == LockMode.FAIR;
        return ask.waitMillis() != 0
                && ask.retries() == 0
                && (fair || (ask.fixedMillis() == 0 && ask.minHoldMillis() == 0));
    }

    private boolean isWaiting(SimulatedCaller caller) {
        long waitMillis = caller.ask.waitMillis();
        return caller.state == SimulatedCaller.State.ASKS
                && (waitMillis == SimulationPlan.WITHOUT_LIMIT
                        || time.now() < caller.askedAt + waitMillis * MILLION * 98 / 100);
    }

    /** Attempts have the lock in the order in which they came to the server; of readers all that came together. */
    private void order(SimulatedCaller caller, Place place, int arrival) {
        boolean reads = caller.ask.mode() == LockMode.READ;
        if (simple && arrival < (reads ? place.lastWriter : place.lastOfAll)) {
            fault.accept(caller + " was overtaken at the server");
        }
        place.lastOfAll = Math.max(place.lastOfAll, arrival);
        place.lastWriter = reads ? place.lastWriter : Math.max(place.lastWriter, arrival);
    }

    /** A hold passes locally a few times and for a short time, where others wait. */
    private void passes(SimulatedCaller caller, Place place, StoreHold hold) {
        if (!hold.attempt().equals(place.attempt)) {
            place.attempt = hold.attempt();
            place.contendedPasses = 0;
            return;
        }
        long age = caller.instance.nanoTime() - hold.begunNanos;
        if (age > (plan.maxPassMillis() + 1) * MILLION) {
            fault.accept("a hold was passed on after " + age / MILLION + " ms: " + caller);
        }
        if (caller.ask.mode() != LockMode.READ && isAwaited(caller) && ++place.contendedPasses > plan.maxPasses()) {
            fault.accept("a hold was passed on " + place.contendedPasses + " times while others waited: " + caller);
        }
    }

    /** No reader joins others here behind a writer who waits here. */
    private void joins(SimulatedCaller caller, StoreHold hold) {
        long begun = time.now() - (caller.instance.nanoTime() - hold.begunNanos) * 98 / 100;
        if (caller.ask.mode() != LockMode.READ || caller.askedAt <= begun) {
            return;
        }
        for (SimulatedCaller other : callers) {
            if (other.instance == caller.instance
                    && other.askedAt < caller.askedAt
                    && other.askedAt > begun
                    && other.ask.mode() != LockMode.READ
                    && other.ask.retries() == 0
                    && other.ask.waitMillis() == SimulationPlan.WITHOUT_LIMIT
                    && other.ask.names().equals(caller.ask.names())
                    && isWaiting(other)) {
                fault.accept(caller + " joins readers although there waits " + other);
            }
        }
    }

    private boolean isAwaited(SimulatedCaller caller) {
        for (SimulatedCaller other : callers) {
            if (other.instance != caller.instance
                    && other.ask.names().equals(caller.ask.names())
                    && other.ask.waitMillis() == SimulationPlan.WITHOUT_LIMIT
                    && other.ask.retries() == 0
                    && other.ask.mode() != LockMode.FAIR
                    && isWaiting(other)
                    && time.now() - other.askedAt > REACTION_NANOS) {
                return true;
            }
        }
        return false;
    }

    /** A caller costs two requests, and few more while it waits or holds. */
    void requests(SimulatedInstance instance) {
        SimulatedStore store = instance.store;
        long tries = 0;
        long nanos = 0;
        for (SimulatedCaller caller : callers) {
            if (caller.instance == instance) {
                tries += 1L + caller.ask.retries();
                nanos += caller.endedAt - caller.askedAt;
            }
        }
        long asked = (long) store.acquires + store.handOvers;
        long polls = nanos / (50 * MILLION);
        if (asked > 2 * tries + polls
                || store.releases > 3 * tries
                || store.renewals > tries + nanos / (300 * MILLION)) {
            fault.accept("too many requests of " + tries + " tries in " + nanos / MILLION + " ms: " + asked
                    + " questions, " + store.releases + " releases, " + store.renewals + " renewals");
        }
    }
}
