/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.store.StoredLock;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What must be true of a history. Looks on while it happens, and again at the end. */
final class SimulationChecker {

    private static final long MILLION = 1_000_000;
    private static final long LOSS_NANOS = 130 * MILLION;
    private static final long RECENT_NANOS = 300 * MILLION;

    /** By how much the end of a minimum hold time may differ by the clock of an instance. */
    private static final long DRIFT_MILLIS = 5;

    /** Longer than any minimum hold time, and an answer. */
    private static final long MOST_HOLD_NANOS = 400 * MILLION;

    private final SimulationOrder order;
    private final VirtualTime time;
    private final SimulatedServer server;
    private final boolean calm;
    private final boolean outside;
    private final long leaseNanos;
    private final boolean punctual;
    private final List<SimulatedCaller> callers = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();
    private final Map<String, Long> highest = new HashMap<>();
    private final Map<String, Set<Long>> used = new HashMap<>();
    private final Map<String, List<SimulatedCaller>> holding = new HashMap<>();
    private final Map<String, SimulatedCaller> keepers = new HashMap<>();
    private final Set<SimulatedCaller> tainted = new HashSet<>();
    private boolean anyTaint;
    private int lastTainted;

    SimulationChecker(SimulationPlan plan, VirtualTime time, SimulatedServer server) {
        this.order = new SimulationOrder(plan, time, server, this::fault);
        this.time = time;
        this.server = server;
        this.calm = plan.isCalm();
        this.outside = plan.isOutside();
        this.leaseNanos = plan.leaseMillis() * MILLION;
        this.punctual = plan.isPunctual();
    }

    List<String> faults() {
        return faults;
    }

    void fault(String what) {
        if (faults.size() < 10) {
            faults.add(time.now() / 1_000 + " us: " + what);
        }
    }

    private List<SimulatedCaller> holding(String name) {
        return holding.computeIfAbsent(name, unseen -> new ArrayList<>());
    }

    /** What holds or asks now may be unknown to the server. */
    void taint(Collection<String> names) {
        anyTaint = true;
        lastTainted = server.arrivals();
        for (SimulatedCaller caller : callers) {
            if (caller.ask.names().stream().anyMatch(names::contains)) {
                tainted.add(caller);
            }
        }
    }

    /** An instance has closed. Where no command is late, it leaves nothing behind but minimum hold times. */
    void closed(SimulatedInstance instance) {
        // A release that a silent server has not answered is said to be unknown later.
        boolean answered = instance.wellNanos()
                > 4 * instance.store.traits().commandTimeout().toNanos();
        if (answered && !instance.locks.toString().startsWith("held=0,")) {
            fault("left in instance " + instance.number + " when it was closed: " + instance.locks);
        }
        callers.stream()
                .filter(caller -> caller.instance == instance && caller.believes())
                .forEach(caller -> fault("still holds when its instance was closed: " + caller));
        if (punctual) {
            time.after(MOST_HOLD_NANOS, () -> left(StoredLock::holders, instance.clientId()));
        }
    }

    void asks(SimulatedCaller caller) {
        callers.add(caller);
        order.asks(caller);
    }

    void begins(SimulatedCaller caller, ManagedLease lease) {
        answeredInTime(caller);
        if (!lease.isHeld()) {
            return;
        }
        if (anyTaint && server.arrival(lease.hold().attempt()) <= lastTainted) {
            // A hold that passed on.
            tainted.add(caller);
        }
        if (calm) {
            order.begins(caller, lease);
        }
        for (String name : caller.ask.names()) {
            SimulatedCaller keeper = keepers.get(name);
            if (keeper != null && excludes(keeper, caller) && time.now() < keeper.keptUntil) {
                fault("'" + name + "' was free before the minimum hold time of " + keeper + " was over: " + caller);
            }
            for (SimulatedCaller other : holding(name)) {
                if (excludes(other, caller) && other.believes()) {
                    fault("two hold '" + name + "': " + other + " and " + caller);
                }
            }
            token(name, caller, lease.fencingToken(name));
            holding(name).add(caller);
        }
    }

    private boolean excludes(SimulatedCaller other, SimulatedCaller caller) {
        boolean exclusive = !other.reads() || !caller.reads();
        return exclusive && !other.instance.isDead() && !tainted.contains(other) && !tainted.contains(caller);
    }

    private void token(String name, SimulatedCaller caller, long token) {
        boolean reads = caller.ask.mode() == LockMode.READ;
        if (!reads && !used.computeIfAbsent(name, unseen -> new HashSet<>()).add(token)) {
            fault("a token of '" + name + "' came twice: " + caller);
        }
        long before = highest.getOrDefault(name, 0L);
        // Where writes are lost, readers have the token that is left; that of a hold which nothing tainted rises with
        // the clock.
        boolean rises = reads ? !anyTaint : !tainted.contains(caller);
        if (rises && (reads ? token < before : token <= before)) {
            fault("a token of '" + name + "' is not above " + before + ": " + caller);
        }
        highest.put(name, Math.max(before, token));
    }

    void refused(SimulatedCaller caller, @Nullable Throwable failure) {
        answeredInTime(caller);
        boolean waits = caller.ask.waitMillis() == SimulationPlan.WITHOUT_LIMIT && caller.ask.retries() == 0;
        if (calm && (waits || !(failure instanceof LockNotAcquiredException))) {
            fault(caller + " was refused although nothing failed: " + failure);
        } else if (waits && failure instanceof LockNotAcquiredException) {
            fault(caller + " was refused although its wait has no limit");
        }
        if (failure instanceof LockStoreException && isBlamedInVain(caller, failure)) {
            fault(caller + " is told that the store is silent, which has answered: " + failure);
        }
    }

    /** Returns whether the store is called silent that answered others shortly before the end of a caller's wait. */
    private boolean isBlamedInVain(SimulatedCaller caller, Throwable failure) {
        SimulationPlan.Ask ask = caller.ask;
        if (outside
                || ask.waitMillis() <= 0
                || ask.retries() > 0
                || !failure.toString().contains("has not answered")) {
            return false;
        }
        SimulatedInstance instance = caller.instance;
        long end = caller.askedAt + ask.waitMillis() * MILLION * 98 / 100;
        long recently = Math.max(caller.askedAt, end - RECENT_NANOS);
        return activeNanos(instance, caller.askedAt) == time.now() - caller.askedAt
                && instance.refusedUntil() < caller.askedAt
                && instance.store.hasAnswered(recently, end);
    }

    /** A holder could not enter its lock again; one whose writer became a reader meanwhile may be told so. */
    void notReentered(SimulatedCaller caller, @Nullable Throwable failure) {
        ManagedLease lease = caller.lease;
        boolean held = lease != null && lease.isHeld();
        boolean downgraded = held && lease.mode() != caller.ask.mode();
        boolean upgrades = downgraded && failure instanceof LockUpgradeException;
        if (held && ((calm && !downgraded) || !(upgrades || failure instanceof LockStoreException))) {
            fault(caller + " could not enter again what it holds: " + failure);
        }
    }

    private void answeredInTime(SimulatedCaller caller) {
        SimulationPlan.Ask ask = caller.ask;
        if (ask.waitMillis() == SimulationPlan.WITHOUT_LIMIT && ask.retries() == 0) {
            return;
        }
        long patience = caller.instance.store.traits().commandTimeout().toMillis();
        long bound = ask.retries() > 0
                ? (ask.retries() + 1) * (patience + 150) + ask.retries() * 60L
                : Math.max(ask.waitMillis(), ask.waitMillis() == 0 ? patience : 0) + 150;
        long took = activeNanos(caller.instance, caller.askedAt);
        if (took > (bound + bound / 100) * MILLION) {
            fault(caller + " was answered after " + took / MILLION + " ms instead of " + bound + ": " + ask);
        }
    }

    /** Returns how long an instance has run since a given time. */
    private long activeNanos(SimulatedInstance instance, long since) {
        return time.now() - since - instance.pausedBetween(since, time.now());
    }

    /** A fixed lease ends as asked, or before its time, for want of an answer. */
    private void reason(SimulatedCaller caller, StoreHold hold) {
        ClockReading end = hold.fixedEnd();
        String reason = hold.endReason();
        if (hold.deadline().equals(end) && reason.equals(StoreHold.NOT_RENEWED)) {
            fault("a lease that ended as asked is said not to have been renewed: " + caller);
        } else if (end != null && !end.hasPassedAt(caller.instance.latest()) && reason.equals(StoreHold.TIME_OVER)) {
            fault("a lease that ended before its time is said to have ended as asked: " + caller);
        }
    }

    void lost(SimulatedCaller caller) {
        if (!caller.instance.runsForUsers()) {
            fault("the callback of " + caller + " does not run on the callbacks' executor");
        }
        if (caller.lossesTold > 1) {
            fault("the loss was told " + caller.lossesTold + " times: " + caller);
        }
        if (calm && caller.ask.fixedMillis() == 0 && !caller.extended) {
            fault("a lease was lost although nothing failed: " + caller);
        }
        ManagedLease lease = caller.lease;
        if (lease != null && lease.isReleased()) {
            lostAtRelease(caller, lease.hold());
        } else if (lease != null) {
            lost(caller, lease);
        }
        ended(caller);
    }

    /** Only the store can tell that, which did not have the hold any more when it was to be released. */
    private void lostAtRelease(SimulatedCaller caller, StoreHold hold) {
        String before = hold.unconfirmed();
        if (!server.hasLost(hold.attempt()) || (before != null && server.hasReleased(before))) {
            fault("a hold was released that is said to have been lost before: " + caller);
        }
    }

    private void lost(SimulatedCaller caller, ManagedLease lease) {
        if (lease.isHeld()) {
            fault("a lease is held whose loss was told: " + caller);
        }
        StoreHold hold = lease.hold();
        reason(caller, hold);
        if (caller.extended) {
            return;
        }
        keptInStore(caller, hold);
        long late = caller.instance.nanoTime() - hold.deadline().nanos();
        long paused = caller.instance.pausedBetween(time.now() - Math.max(0, late) - MILLION, time.now());
        if (late - paused > LOSS_NANOS) {
            fault("the loss was told " + late / MILLION + " ms after the deadline: " + caller);
        }
    }

    /** What is believed is held in the store, and is renewed in time where that can be done. */
    private void keptInStore(SimulatedCaller caller, StoreHold hold) {
        long late = caller.instance.nanoTime() - hold.deadline().nanos();
        if (!outside && late < 0 && hold.endReason().equals(StoreHold.SAYS_ENDED)) {
            fault("the store ended a lease " + -late / MILLION + " ms before its deadline: " + caller);
        }
        long patience = caller.instance.store.traits().commandTimeout().toNanos() + leaseNanos / 10 + RECENT_NANOS;
        long held = caller.instance.nanoTime() - hold.begunNanos;
        long well = Math.min(held, caller.instance.wellNanos()) - Math.max(0, late);
        if (well > patience && hold.endReason().equals(StoreHold.NOT_RENEWED)) {
            fault("a lease was not renewed although all was well for " + well / MILLION + " ms: " + caller);
        }
    }

    /** A caller releases what it holds. */
    void ends(SimulatedCaller caller) {
        if (caller.state == SimulatedCaller.State.HOLDS) {
            look(caller);
        }
        ManagedLease lease = caller.lease;
        // Where the lease has less left than that, it is the release that keeps the lock, if it arrives.
        if (lease != null
                && caller.believes()
                && lease.keepMillis() > 0
                && (punctual || lease.remaining().toMillis() >= lease.keepMillis())) {
            caller.keptUntil = time.now() + (lease.keepMillis() - DRIFT_MILLIS) * MILLION;
            caller.ask.names().forEach(name -> keepers.put(name, caller));
        }
        ended(caller);
    }

    private void ended(SimulatedCaller caller) {
        for (String name : caller.ask.names()) {
            if (holding(name).remove(caller)) {
                order.ends(name);
            }
        }
    }

    void released(SimulatedCaller caller, SimulatedCaller.State before, long since) {
        long timeout = caller.instance.store.traits().commandTimeout().toNanos();
        if (activeNanos(caller.instance, since) > 3 * timeout + 2_000 * MILLION) {
            fault("a release was not told in time: " + caller);
        }
    }

    /** Looks whether the losses of all holders were told in time, and whether two believe. */
    void look() {
        for (SimulatedCaller caller : callers) {
            if (caller.holds() && caller.instance.isRunning()) {
                look(caller);
            }
        }
        holding.forEach((name, holders) -> {
            List<SimulatedCaller> believing =
                    holders.stream().filter(SimulatedCaller::believes).toList();
            for (int i = 1; i < believing.size(); i++) {
                if (excludes(believing.get(i), believing.get(0)) && excludes(believing.get(0), believing.get(i))) {
                    fault("two hold '" + name + "': " + believing.get(0) + " and " + believing.get(i));
                }
            }
        });
    }

    private void look(SimulatedCaller caller) {
        ManagedLease lease = caller.lease;
        if (lease == null || lease.isHeld() || lease.isReleased()) {
            return;
        }
        if (caller.deadSince < 0) {
            caller.deadSince = time.now();
        } else if (activeNanos(caller.instance, caller.deadSince) > LOSS_NANOS) {
            fault("the loss is not told in time: " + caller);
        }
    }

    /** Looks at what is left when nothing happens any more. */
    void atTheEnd(List<SimulatedInstance> instances, boolean drained) {
        for (SimulatedCaller caller : callers) {
            boolean over = caller.state != SimulatedCaller.State.ASKS
                    && caller.state != SimulatedCaller.State.HOLDS
                    && caller.state != SimulatedCaller.State.RELEASES;
            if (!over && !caller.instance.isDead()) {
                fault("not over at the end: " + caller);
            }
        }
        for (SimulatedInstance instance : instances) {
            if (!instance.isDead() && !instance.locks.toString().equals("held=0, names=0")) {
                fault("left in instance " + instance.number + ": " + instance.locks);
            }
        }
        if (calm) {
            instances.forEach(order::requests);
        }
        if (!drained) {
            fault("something still happens long after the end");
        }
        leftOfTheLiving(StoredLock::holders, instances);
    }

    /** Looks at what is left when the places of those who left without the server's knowledge have ended. */
    void afterAWhile(List<SimulatedInstance> instances) {
        leftOfTheLiving(StoredLock::waiters, instances);
    }

    /** What a dead instance had ends by itself. */
    private void leftOfTheLiving(Function<StoredLock, List<String>> attempts, List<SimulatedInstance> instances) {
        instances.stream()
                .filter(instance -> !instance.isDead())
                .forEach(instance -> left(attempts, instance.clientId()));
    }

    private void left(Function<StoredLock, List<String>> attempts, String clientId) {
        for (String name : List.of("a", "b", "c")) {
            Optional<StoredLock> left = server.records.inspect(name, server.micros());
            if (left.isPresent()
                    && attempts.apply(left.get()).stream().anyMatch(attempt -> attempt.startsWith(clientId))) {
                fault("left at the server: " + left.get());
            }
        }
    }
}
