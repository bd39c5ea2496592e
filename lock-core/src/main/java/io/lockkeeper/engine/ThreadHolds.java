/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockUpgradeException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What each thread holds through the forms that are bound to it. Empty threads keep nothing. */
final class ThreadHolds {

    private final UnaryOperator<HeldLease> downgrade;

    @SuppressWarnings("ThreadLocalUsage") // Two engines may keep the same name in different stores.
    private final ThreadLocal<@Nullable Map<String, ThreadHold>> holds = new ThreadLocal<>();

    /**
     * Creates an empty set.
     *
     * @param downgrade turns the lease of an exclusive holder into one of a reader
     */
    ThreadHolds(UnaryOperator<HeldLease> downgrade) {
        this.downgrade = downgrade;
    }

    /** Returns this thread's hold of a name; null where it has none, or released it. */
    @Nullable
    ThreadHold find(String name) {
        ThreadHold hold = entered(name);
        return hold == null || hold.lease().isReleased() ? null : hold;
    }

    /** Returns what this thread has entered and not left, also where its lease was released by another thread. */
    @Nullable
    ThreadHold entered(String name) {
        Map<String, ThreadHold> mine = holds.get();
        ThreadHold hold = mine == null ? null : mine.get(name);
        return hold == null || !hold.isEntered() ? null : hold;
    }

    /**
     * Enters again what this thread holds of some names, or what leases hold under which the caller runs.
     *
     * @param request the names
     * @param enclosing the leases; only levels of this engine count
     * @return the new levels, one for each hold, which belong to no thread
     * @throws LockUpgradeException if one of them only reads, and the request asks for more than to read
     */
    List<LevelLease> reenter(LockRequest request, Collection<? extends LockLease> enclosing) {
        List<LevelLease> again = new ArrayList<>(1);
        reentered(request, enclosing).forEach((hold, names) -> {
            // One that is over by now is acquired as if it had never been there.
            if (hold.enter(request.mode())) {
                again.add(new LevelLease(hold, this, request.mode(), names, false));
            }
        });
        return again;
    }

    /** Returns the holds of names that are held already, with the names of each. */
    private Map<Hold, List<String>> reentered(LockRequest request, Collection<? extends LockLease> enclosing) {
        List<LevelLease> around = levels(enclosing);
        if (around.isEmpty() && holds.get() == null) {
            return Map.of();
        }
        Map<Hold, List<String>> found = new LinkedHashMap<>(2);
        for (String name : request.names()) {
            ThreadHold own = find(name);
            Hold hold = own == null ? find(name, around) : own.hold();
            if (hold == null) {
                continue;
            }
            if (hold.lease().mode() == LockMode.READ && request.mode() != LockMode.READ) {
                throw new LockUpgradeException(name, request.mode());
            }
            hold.lease().ensureHeld();
            found.computeIfAbsent(hold, first -> new ArrayList<>(1)).add(name);
        }
        return found;
    }

    /**
     * Lets this thread enter again, by {@link ThreadHold#lock}, a name that it holds.
     *
     * @return whether it did; false: it does not hold the name
     * @throws LockUpgradeException if it only reads, and now asks for more
     */
    boolean relock(LockRequest request) {
        return reentered(request, List.of()).keySet().stream()
                .anyMatch(hold -> mine(hold).lock(request.mode()));
    }

    /** Returns whether some leases are levels of this engine that have not ended. */
    boolean isInside(Collection<? extends LockLease> leases) {
        return !isEmpty() || !levels(leases).isEmpty();
    }

    /** Returns whether some leases are levels of this engine that hold all that a request asks for. */
    boolean covers(LockRequest request, Collection<? extends LockLease> leases) {
        List<LevelLease> levels = levels(leases);
        boolean reads = request.mode() == LockMode.READ;
        return request.names().stream().allMatch(name -> levels.stream()
                .anyMatch(level ->
                        level.names().contains(name) && (reads || level.mode() != LockMode.READ) && level.isHeld()));
    }

    private List<LevelLease> levels(Collection<? extends LockLease> leases) {
        if (leases.isEmpty()) {
            return List.of();
        }
        return leases.stream()
                .flatMap(lease -> lease instanceof JointLease joint ? joint.levels().stream() : Stream.of(lease))
                .filter(LevelLease.class::isInstance)
                .map(LevelLease.class::cast)
                .filter(level -> level.isLiveIn(this))
                .toList();
    }

    private static @Nullable Hold find(String name, List<LevelLease> levels) {
        for (LevelLease level : levels) {
            HeldLease lease = level.hold().lease();
            if (lease.names().contains(name) && !lease.isReleased()) {
                return level.hold();
            }
        }
        return null;
    }

    /** Returns what this thread has of a hold from now on. */
    ThreadHold mine(Hold hold) {
        Map<String, ThreadHold> mine = holds.get();
        if (mine == null) {
            mine = new HashMap<>();
            holds.set(mine);
        } else {
            for (ThreadHold known : mine.values()) {
                if (known.hold() == hold) {
                    return known;
                }
            }
            // What other threads released for this one.
            mine.values().removeIf(old -> !old.isEntered());
        }
        ThreadHold added = new ThreadHold(hold, this);
        for (String name : hold.lease().names()) {
            // A reader may meet its name in two holds: what it entered first stays in sight.
            if (find(name) == null) {
                mine.put(name, added);
            }
        }
        return added;
    }

    /** Begins a hold, and lets this thread have part in it. */
    ThreadHold add(HeldLease lease) {
        return mine(new Hold(lease, downgrade));
    }

    /** Begins a hold with a first level, which belongs to no thread. */
    LevelLease begin(HeldLease lease, LockRequest request) {
        Hold hold = new Hold(lease, downgrade);
        hold.enter(request.mode());
        return new LevelLease(hold, this, request.mode(), request.names(), true);
    }

    /** Forgets holds of this thread that are over. */
    void forget(List<String> names) {
        Map<String, ThreadHold> mine = holds.get();
        if (mine == null) {
            return;
        }
        for (String name : names) {
            if (find(name) == null) {
                mine.remove(name);
            }
        }
        if (mine.isEmpty()) {
            holds.remove();
        }
    }

    boolean isEmpty() {
        Map<String, ThreadHold> mine = holds.get();
        return mine == null || mine.keySet().stream().allMatch(name -> find(name) == null);
    }

    /** Returns how many levels this thread has of a name: of those that read, or of the others. */
    int levels(String name, LockMode mode) {
        ThreadHold hold = find(name);
        return hold == null ? 0 : hold.levels(mode);
    }

    Optional<LockLease> lease(String name, LockMode mode) {
        return Optional.ofNullable(find(name))
                .filter(hold -> hold.levels(mode) > 0)
                .map(ThreadHold::lease);
    }

    /** Refuses a request for a lease of its own that would wait for this very thread. */
    void refuseHeld(LockRequest request) {
        for (String name : request.names()) {
            ThreadHold hold = find(name);
            if (hold != null && hold.lease().isHeld()) {
                throw new IllegalStateException("This thread holds lock '" + name + "' already, through execute, run, a"
                        + " DistributedLock or an annotated method, and would wait for itself: acquire and tryAcquire"
                        + " give a lease of their own each time. Use execute or run to enter the lock again, or"
                        + " LockContext.current() to get the lease.");
            }
        }
    }
}
