/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who holds what through the forms that can be entered again: a thread, or any other owner. An owner that holds a name enters
 * it without asking the manager; what is missing is acquired.
 */
final class ReentrantHolds {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    /** So many names of missing unlocks are remembered for each owner. */
    private static final int MOST_OWED = 1_000;

    /** Up to so many threads, none is looked for that has ended. */
    private static final int FEW_THREADS = 64;

    private final LockManager manager;

    /** Threads that have entered something; one that ended without its unlocks is forgotten when there are many. */
    private final Map<Thread, Owner> threads = new ConcurrentHashMap<>();

    private volatile int manyThreads = FEW_THREADS;

    ReentrantHolds(LockManager manager) {
        this.manager = manager;
    }

    /** What one owner has entered and not left. Levels may be ended on other threads. */
    final class Owner {

        private final Map<String, OwnedHold> holds = new ConcurrentHashMap<>(4);

        /** What was entered by locking several names together, and not unlocked; the last comes first. */
        private @Nullable Deque<EnteredLease> several;

        /** How many entries are under way on the owner's thread. */
        private int entering;

        /** How many unlocks are missing of holds that ended by themselves. */
        private @Nullable Map<Owed, Integer> owed;

        /** Returns what this owner has entered of a name, also where its lease was released by another thread. */
        @Nullable
        OwnedHold entered(String name, LockMode mode) {
            OwnedHold hold = holds.get(key(name, mode));
            return hold == null || !hold.isEntered() ? null : hold;
        }

        /** Returns this owner's hold of a name; null where it has none, or released it. */
        @Nullable
        OwnedHold find(String name, LockMode mode) {
            OwnedHold hold = entered(name, mode);
            return hold == null || hold.lease().isReleased() ? null : hold;
        }

        /** Returns what this owner has of a hold from now on. */
        OwnedHold part(ReentrantHold hold) {
            for (OwnedHold known : holds.values()) {
                if (known.hold() == hold) {
                    return known;
                }
                if (!known.isEntered() || hasLapsed(known)) {
                    drop(known);
                }
            }
            return new OwnedHold(hold, this);
        }

        /** Has a hold of which this owner has a level in sight. */
        void remember(OwnedHold entered) {
            if (holds.containsValue(entered)) {
                return;
            }
            LockMode mode = entered.lease().mode();
            // A reader may meet its name in two holds: what it entered first stays in sight.
            entered.lease().names().stream()
                    .filter(name -> find(name, mode) == null)
                    .forEach(name -> holds.put(key(name, mode), entered));
        }

        /** Forgets a hold that was left. */
        void forget(OwnedHold left) {
            holds.values().removeIf(known -> known == left);
            if (isEmpty()) {
                threads.remove(Thread.currentThread(), this);
            }
        }

        /** Forgets a hold that has ended without its unlocks, which are owed from now on. */
        void drop(OwnedHold ended) {
            holds.values().removeIf(known -> known == ended);
            for (LockMode mode : new LockMode[] {LockMode.READ, LockMode.EXCLUSIVE}) {
                int locks = ended.locks(mode);
                if (locks > 0) {
                    owed = owed == null ? new LinkedHashMap<>(4) : owed;
                    owed.merge(new Owed(ended.lease().names(), mode), locks, Integer::sum);
                    if (owed.size() > MOST_OWED) {
                        owed.remove(owed.keySet().iterator().next());
                    }
                }
            }
        }

        /** Takes one of the unlocks that are owed; false: there is none. */
        boolean takeOwed(String name, LockMode mode) {
            if (owed == null) {
                return false;
            }
            for (Owed missing : owed.keySet()) {
                if (missing.isFor(name, mode)) {
                    owed.computeIfPresent(missing, (known, count) -> count == 1 ? null : count - 1);
                    owed = owed.isEmpty() ? null : owed;
                    return true;
                }
            }
            return false;
        }

        /** Has a level of several names ended by an unlock. */
        void push(EnteredLease level) {
            several = several == null ? new ArrayDeque<>(4) : several;
            several.push(level);
            if (several.size() > MOST_OWED && !several.getLast().isHeld()) {
                several.removeLast().close();
            }
        }

        /** Returns the last level that has exactly these names, and whose unlock is missing; null: there is none. */
        @Nullable
        EnteredLease pop(LockRequest request) {
            if (several == null) {
                return null;
            }
            Set<String> names = Set.copyOf(request.names());
            Optional<EnteredLease> last = several.stream()
                    .filter(level -> (level.mode() == LockMode.READ) == (request.mode() == LockMode.READ))
                    .filter(level -> names.equals(Set.copyOf(level.names())))
                    .findFirst();
            last.ifPresent(several::remove);
            return last.orElse(null);
        }

        boolean isEmpty() {
            return entering == 0 && holds.isEmpty() && owed == null && (several == null || several.isEmpty());
        }

        /** Returns whether the lease of no hold is held any more. */
        boolean hasNoneHeld() {
            return holds.values().stream().noneMatch(hold -> hold.lease().isHeld());
        }

        /** Returns whether this owner holds any lock. */
        boolean holdsAny() {
            return holds.values().stream()
                    .anyMatch(hold -> hold.isEntered() && !hold.lease().isReleased());
        }
    }

    /** The unlocks of a hold that ended by itself; each of its names may be the one that was locked. */
    private record Owed(List<String> names, LockMode mode) {

        boolean isFor(String name, LockMode unlocked) {
            return names.contains(name) && (mode == LockMode.READ) == (unlocked == LockMode.READ);
        }
    }

    /** Where nothing excludes, a name that is read and written is held twice. */
    private String key(String name, LockMode mode) {
        return manager.excludes() || mode != LockMode.READ ? name : "r:" + name;
    }

    /** Returns an owner that is no thread. */
    Owner newOwner() {
        return new Owner();
    }

    /** Returns this thread as an owner. */
    Owner thisThread() {
        Owner known = threads.get(Thread.currentThread());
        if (known == null) {
            known = new Owner();
            if (threads.size() >= manyThreads) {
                forgetEndedThreads();
            }
            threads.put(Thread.currentThread(), known);
        }
        return known;
    }

    private void forgetEndedThreads() {
        threads.entrySet()
                .removeIf(entry -> !entry.getKey().isAlive() && entry.getValue().hasNoneHeld());
        manyThreads = Math.max(FEW_THREADS, 2 * threads.size());
    }

    /** Returns this thread, if it has entered something. */
    @Nullable
    Owner knownThread() {
        return knownThread(Thread.currentThread());
    }

    /** Returns a thread, if it has entered something. */
    @Nullable
    Owner knownThread(Thread thread) {
        return threads.get(thread);
    }

    /** Forgets this thread, unless it holds something. */
    void leaveThread() {
        Owner known = threads.get(Thread.currentThread());
        if (known != null && known.isEmpty()) {
            threads.remove(Thread.currentThread());
        }
    }

    /** Puts this thread inside a level, until the result is called on it. */
    Runnable enterThread(NestedLease level) {
        return level.enter(thisThread());
    }

    // ---- entering ----

    /** Lets an owner enter a lock, waiting for it and for the store on this thread. */
    EnteredLease enter(Owner owner, LockRequest request) {
        return enter(owner, request, true, true);
    }

    private EnteredLease enter(Owner owner, LockRequest request, boolean body, boolean interruptibly) {
        return entering(owner, () -> enterNow(owner, request, body, interruptibly));
    }

    /** While an owner enters something it is not forgotten: a listener may enter and leave another lock on its thread. */
    private <T> T entering(Owner owner, Supplier<T> entry) {
        owner.entering++;
        try {
            return entry.get();
        } finally {
            owner.entering--;
            leaveThread();
        }
    }

    private EnteredLease enterNow(Owner owner, LockRequest request, boolean body, boolean interruptibly) {
        manager.check(request);
        Map<ReentrantHold, List<String>> held = held(owner, request, List.of());
        for (LockManager.Lease shorter : endingBefore(request, held)) {
            if (!shorter.extend(Objects.requireNonNull(request.leaseTime()))) {
                shorter.ensureHeld();
            }
        }
        List<NestedLease> levels = reenter(held, request, body);
        try {
            LockRequest missing = missing(request, levels);
            if (missing != null) {
                levels.add(begin(manager.acquire(missing, owner.holdsAny(), interruptibly), missing, body));
            }
            levels.forEach(level -> level.bindTo(owner));
            return joined(request, levels);
        } catch (RuntimeException | Error failure) {
            levels.forEach(NestedLease::close);
            throw failure;
        }
    }

    /**
     * Lets a caller enter a lock without blocking. The level belongs to no owner but those that are put into it.
     *
     * @param owner who asks, and what it holds is entered again
     * @param enclosing leases under which the caller runs besides: what they hold is entered again, too
     * @return the level to come; ended by the caller, it gives up the place
     */
    CompletableFuture<EnteredLease> enterAsync(
            Owner owner, LockRequest request, Collection<? extends LockLease> enclosing) {
        manager.check(request);
        Map<ReentrantHold, List<String>> held = held(owner, request, enclosing);
        List<LockManager.Lease> shorter = endingBefore(request, held);
        if (shorter.isEmpty()) {
            return enterAsync(owner, request, held, enclosing);
        }
        List<CompletableFuture<Boolean>> extensions = shorter.stream()
                .map(lease -> lease.extendAsync(Objects.requireNonNull(request.leaseTime())))
                .toList();
        CompletableFuture<EnteredLease> result = new CompletableFuture<>();
        CompletableFuture.allOf(extensions.toArray(CompletableFuture<?>[]::new))
                .whenComplete((done, failure) -> manager.execute(() -> {
                    try {
                        if (failure != null) {
                            throw failed(request, failure);
                        }
                        shorter.forEach(LockLease::ensureHeld);
                        CompletableFuture<EnteredLease> entering = enterAsync(owner, request, held, enclosing);
                        entering.whenComplete((level, refused) -> complete(result, level, refused));
                        result.whenComplete((level, ended) -> entering.cancel(false));
                    } catch (Throwable refused) {
                        result.completeExceptionally(refused);
                    }
                }));
        return result;
    }

    private static void complete(
            CompletableFuture<EnteredLease> result, @Nullable EnteredLease level, @Nullable Throwable failure) {
        if (level == null) {
            result.completeExceptionally(Objects.requireNonNull(failure));
        } else if (!result.complete(level)) {
            level.closeAsync();
        }
    }

    private static RuntimeException failed(LockRequest request, Throwable failure) {
        Throwable cause = failure.getCause() == null ? failure : failure.getCause();
        return cause instanceof LockException known
                ? known
                : new LockStoreException(
                        "Lock '" + String.join("', '", request.names()) + "' could not be extended: "
                                + cause.getMessage(),
                        cause);
    }

    private CompletableFuture<EnteredLease> enterAsync(
            Owner owner,
            LockRequest request,
            Map<ReentrantHold, List<String>> held,
            Collection<? extends LockLease> enclosing) {
        boolean nested = owner.holdsAny() || !levels(enclosing).isEmpty();
        List<NestedLease> levels = reenter(held, request, true);
        LockRequest missing = missing(request, levels);
        if (missing == null) {
            return CompletableFuture.completedFuture(joined(request, levels));
        }
        CompletableFuture<EnteredLease> result = new CompletableFuture<>();
        result.whenComplete((level, failure) -> {
            if (level == null) {
                levels.forEach(NestedLease::closeAsync);
            }
        });
        try {
            manager.acquireAsync(
                    missing,
                    nested,
                    result,
                    lease -> {
                        NestedLease level = begin(lease, missing, true);
                        List<NestedLease> all = new ArrayList<>(levels);
                        all.add(level);
                        return joined(request, all);
                    },
                    true);
        } catch (Throwable failure) {
            result.completeExceptionally(failure);
            throw failure;
        }
        return result;
    }

    /** Begins a hold with a first level, which belongs to no owner. */
    private NestedLease begin(LockManager.Lease lease, LockRequest request, boolean body) {
        try {
            ReentrantHold hold = new ReentrantHold(lease);
            hold.enter(request.mode(), body);
            return new NestedLease(hold, this, request, request.names(), body, true);
        } catch (Throwable failure) {
            lease.giveBack();
            throw failure;
        }
    }

    private List<NestedLease> reenter(Map<ReentrantHold, List<String>> held, LockRequest request, boolean body) {
        List<NestedLease> again = new ArrayList<>(1);
        try {
            held.forEach((hold, names) -> {
                // One that is over by now is acquired as if it had never been there.
                if (hold.enter(request.mode(), body)) {
                    again.add(new NestedLease(hold, this, request, names, body, false));
                }
            });
            return again;
        } catch (RuntimeException | Error refused) {
            again.forEach(NestedLease::closeAsync);
            throw refused;
        }
    }

    /** Returns a request for the names that are in none of the levels; null: there are none. */
    private static @Nullable LockRequest missing(LockRequest request, List<NestedLease> levels) {
        if (levels.isEmpty()) {
            return request;
        }
        List<String> missing = request.names().stream()
                .filter(name -> levels.stream().noneMatch(level -> level.names().contains(name)))
                .toList();
        return missing.isEmpty() ? null : request.withNames(missing);
    }

    private static EnteredLease joined(LockRequest request, List<NestedLease> levels) {
        return levels.size() == 1 ? levels.get(0) : new CompositeLevel(request, levels).joined();
    }

    /** Returns the leases with a fixed end that a request wants to hold for longer. */
    private static List<LockManager.Lease> endingBefore(LockRequest request, Map<ReentrantHold, List<String>> held) {
        return request.leaseTime() == null || held.isEmpty()
                ? List.of()
                : held.keySet().stream()
                        .map(ReentrantHold::lease)
                        .filter(lease -> lease.isFixed() && lease.remaining().compareTo(request.leaseTime()) < 0)
                        .toList();
    }

    /** Returns the holds of names that are held already, with the names of each. */
    private Map<ReentrantHold, List<String>> held(
            Owner owner, LockRequest request, Collection<? extends LockLease> enclosing) {
        List<NestedLease> around = levels(enclosing);
        if (around.isEmpty() && owner.isEmpty()) {
            return Map.of();
        }
        Map<ReentrantHold, List<String>> found = new LinkedHashMap<>(2);
        for (String name : request.names()) {
            OwnedHold own = owner.find(name, request.mode());
            ReentrantHold hold = own == null ? find(name, around) : own.hold();
            if (hold == null || (own != null && beginsAnew(owner, own))) {
                continue;
            }
            hold.lease().ensureHeld();
            if (hold.lease().mode() == LockMode.READ && request.mode() != LockMode.READ) {
                throw new LockUpgradeException(name, request.mode());
            }
            found.computeIfAbsent(hold, first -> new ArrayList<>(1)).add(name);
        }
        return found;
    }

    /**
     * Returns whether an owner's hold has ended and is forgotten, because no body of it runs: a fixed lease that ended as
     * asked.
     *
     * @throws LockLostException if the hold was lost; it is forgotten then, too
     */
    private static boolean beginsAnew(Owner owner, OwnedHold own) {
        LockManager.Lease lease = own.lease();
        if (lease.isHeld() || own.hold().hasBodies()) {
            return false;
        }
        owner.drop(own);
        boolean asAsked = lease.hasEndedAsAsked();
        try {
            if (!asAsked) {
                lease.ensureHeld();
            }
        } finally {
            lease.closeAsync();
        }
        log.warn(
                "Lock '{}' is locked again after its lease time is over, but was not unlocked: call unlock() in a finally"
                        + " block",
                lease.name());
        return true;
    }

    private static boolean hasLapsed(OwnedHold own) {
        return !own.lease().isHeld()
                && own.lease().hasEndedAsAsked()
                && !own.hold().hasBodies();
    }

    private List<NestedLease> levels(Collection<? extends LockLease> leases) {
        if (leases.isEmpty()) {
            return List.of();
        }
        return leases.stream()
                .flatMap(lease -> lease instanceof CompositeLevel joint ? joint.leases().stream() : Stream.of(lease))
                .filter(NestedLease.class::isInstance)
                .map(NestedLease.class::cast)
                .filter(level -> level.isLiveIn(this))
                .toList();
    }

    private static @Nullable ReentrantHold find(String name, List<NestedLease> levels) {
        for (NestedLease level : levels) {
            LockManager.Lease lease = level.hold().lease();
            if (lease.names().contains(name) && !lease.isReleased()) {
                return level.hold();
            }
        }
        return null;
    }

    /** Returns whether some leases are levels of this template that hold all that a request asks for. */
    boolean covers(LockRequest request, Collection<? extends LockLease> leases) {
        List<NestedLease> levels = levels(leases);
        boolean reads = request.mode() == LockMode.READ;
        return request.names().stream().allMatch(name -> levels.stream()
                .anyMatch(level ->
                        level.names().contains(name) && (reads || level.mode() != LockMode.READ) && level.isHeld()));
    }

    /** Returns whether an owner, or leases under which it runs, hold all that a request asks for. */
    boolean isHeld(Owner owner, LockRequest request, Collection<? extends LockLease> enclosing) {
        return request.names().stream()
                .allMatch(name -> lease(owner, name, LockMode.EXCLUSIVE).isPresent()
                        || lease(owner, name, LockMode.READ).isPresent()
                        || enclosing.stream().anyMatch(lease -> lease.names().contains(name) && lease.isHeld()));
    }

    /** Refuses a request for a lease of its own that would wait for this very owner. */
    void refuseHeld(Owner owner, LockRequest request) {
        for (String name : request.names()) {
            OwnedHold hold = manager.excludes() ? owner.find(name, request.mode()) : null;
            if (hold != null && hold.lease().isHeld()) {
                throw new IllegalStateException("This thread holds lock '" + name + "' already, through execute, run, a"
                        + " DistributedLock or an annotated method, and would wait for itself: acquire and tryAcquire"
                        + " give a lease of their own each time. Use execute or run to enter the lock again, or"
                        + " LockContext.current() to get the lease.");
            }
        }
    }

    // ---- java.util.concurrent.locks.Lock ----

    /** Lets an owner enter a lock until the matching {@link #unlock}. */
    void lock(Owner owner, LockRequest request, boolean interruptibly) {
        if (request.names().size() > 1) {
            owner.push(enter(owner, request, false, interruptibly));
            return;
        }
        entering(owner, () -> {
            lockNow(owner, request, interruptibly);
            return owner;
        });
    }

    private void lockNow(Owner owner, LockRequest request, boolean interruptibly) {
        manager.check(request);
        Map<ReentrantHold, List<String>> held = held(owner, request, List.of());
        for (LockManager.Lease shorter : endingBefore(request, held)) {
            if (!shorter.extend(Objects.requireNonNull(request.leaseTime()))) {
                shorter.ensureHeld();
            }
        }
        for (ReentrantHold known : held.keySet()) {
            if (owner.part(known).lock(request.mode())) {
                return;
            }
        }
        LockManager.Lease lease = manager.acquire(request, owner.holdsAny(), interruptibly);
        try {
            owner.part(new ReentrantHold(lease)).lock(request.mode());
        } catch (Throwable failure) {
            lease.giveBack();
            throw failure;
        }
    }

    /**
     * Ends the innermost level that an owner entered with {@link #lock} in a mode, and logs an end that the caller does not
     * expect.
     *
     * @throws IllegalMonitorStateException if there is none
     */
    void unlock(Owner owner, LockRequest request) {
        ReleaseResult result = release(owner, request);
        String names = String.join("', '", request.names());
        if (result == ReleaseResult.UNKNOWN) {
            logUnanswered(names);
        } else if (result == ReleaseResult.LOST
                && request.names().stream().anyMatch(name -> owner.entered(name, request.mode()) == null)) {
            // The last level tells: the caller of unlock() hears of it in no other way.
            log.warn("Lock '{}' had been lost, or its lease time was over, before it was unlocked", names);
        }
    }

    static void logUnanswered(String names) {
        log.warn("Release of lock '{}' was not answered; it is repeated in the background", names);
    }

    /**
     * Ends the innermost level that an owner entered with {@link #lock} in a mode.
     *
     * @throws IllegalMonitorStateException if there is none
     */
    ReleaseResult release(Owner owner, LockRequest request) {
        ReleaseResult result =
                request.names().size() == 1 ? releaseOne(owner, request) : releaseSeveral(owner, request);
        if (result == null) {
            throw new IllegalMonitorStateException(
                    "Lock '" + String.join("', '", request.names()) + "' is not locked by this thread");
        }
        return result;
    }

    private static @Nullable ReleaseResult releaseOne(Owner owner, LockRequest request) {
        String name = request.names().get(0);
        OwnedHold hold = owner.entered(name, request.mode());
        ReleaseResult result = hold == null ? null : hold.unlock(request.mode());
        return result == null && owner.takeOwed(name, request.mode()) ? ReleaseResult.LOST : result;
    }

    private static @Nullable ReleaseResult releaseSeveral(Owner owner, LockRequest request) {
        EnteredLease level = owner.pop(request);
        if (level == null) {
            return null;
        }
        boolean held = level.isHeld();
        ReleaseResult result = level.release();
        return held || result == ReleaseResult.UNKNOWN ? result : ReleaseResult.LOST;
    }

    /** Returns the lease under which an owner holds all names of a request; empty where it does not hold one of them. */
    Optional<LockLease> lease(Owner owner, LockRequest request) {
        if (request.names().size() == 1) {
            return lease(owner, request.names().get(0), request.mode());
        }
        Set<LockLease> leases = new LinkedHashSet<>(4);
        for (String name : request.names()) {
            Optional<LockLease> lease = lease(owner, name, request.mode());
            if (lease.isEmpty()) {
                return lease;
            }
            leases.add(lease.get());
        }
        LockLease first = leases.iterator().next();
        return Optional.of(leases.size() == 1 ? first : new CompositeLease<>(request, List.copyOf(leases)));
    }

    /** Returns whether an owner holds any name of a request. */
    boolean holdsAny(Owner owner, LockRequest request) {
        return request.names().stream()
                .anyMatch(name -> lease(owner, name, request.mode()).isPresent());
    }

    /** Returns the lease under which an owner holds a name in a mode; empty where it does not hold it. */
    private Optional<LockLease> lease(Owner owner, String name, LockMode mode) {
        return Optional.ofNullable(owner.find(name, mode))
                .filter(hold -> hold.levels(mode) > 0)
                .map(OwnedHold::lease)
                .filter(LockLease::isHeld)
                .map(LockLease.class::cast);
    }

    /** Returns how many levels an owner has of all names of a request together; 0 where it does not hold one of them. */
    int holdCount(Owner owner, LockRequest request) {
        int count = Integer.MAX_VALUE;
        for (String name : request.names()) {
            OwnedHold hold = owner.find(name, request.mode());
            count = Math.min(count, hold == null || !hold.lease().isHeld() ? 0 : hold.levels(request.mode()));
        }
        return count;
    }
}
