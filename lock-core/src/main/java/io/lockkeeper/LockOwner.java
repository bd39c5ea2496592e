/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one owner, such as a thread, is inside of: levels of holds, linked from the innermost outwards. Levels may be ended on
 * other threads; everything else happens on the thread of the owner.
 */
final class LockOwner {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    /** So many missing unlocks of different names are remembered for each owner. */
    private static final int MOST_OWED = 1_000;

    private final ReentrantHolds holds;
    private @Nullable NestedLease innermost;

    /** How many unlocks are missing of holds that ended by themselves. */
    private @Nullable Map<Locked, Integer> owed;

    LockOwner(ReentrantHolds holds) {
        this.holds = holds;
    }

    /** Puts this owner inside a level: what that holds, it enters again as if it had acquired it. */
    synchronized void enter(NestedLease level) {
        if (innermost != null) {
            dropIf(LockOwner::hasLapsed);
        }
        level.outer = innermost;
        innermost = level;
    }

    /** Takes this owner out of a level, on any thread. */
    synchronized void leave(NestedLease left) {
        removeIf(level -> level == left);
        forgetIfEmpty();
    }

    private static boolean hasLapsed(NestedLease level) {
        if (level.hasLapsed()) {
            log.warn(
                    "Lock '{}' was not unlocked before its lease time was over: call unlock() in a finally block",
                    String.join("', '", level.names()));
            return true;
        }
        return false;
    }

    private void removeIf(Predicate<NestedLease> left) {
        NestedLease inner = null;
        for (NestedLease level = innermost; level != null; level = level.outer) {
            if (!left.test(level)) {
                inner = level;
            } else if (inner == null) {
                innermost = level.outer;
            } else {
                inner.outer = level.outer;
            }
        }
    }

    private void forgetIfEmpty() {
        if (innermost == null && owed == null) {
            holds.forgetThisThread(this);
        }
    }

    /** Forgets locks that have ended without their unlocks, which are owed from now on. */
    synchronized void dropIf(Predicate<NestedLease> ended) {
        removeIf(level -> level.isLock() && ended.test(level) && owe(level));
    }

    private boolean owe(NestedLease level) {
        owed = owed == null ? new LinkedHashMap<>(4) : owed;
        owed.merge(level.locked(), 1, Integer::sum);
        if (owed.size() > MOST_OWED) {
            owed.remove(owed.keySet().iterator().next());
        }
        return true;
    }

    /** Takes one of the unlocks that are owed; false: there is none. */
    synchronized boolean takeOwed(Locked locked) {
        if (owed == null || !owed.containsKey(locked)) {
            return false;
        }
        owed.computeIfPresent(locked, (known, count) -> count == 1 ? null : count - 1);
        owed = owed.isEmpty() ? null : owed;
        forgetIfEmpty();
        return true;
    }

    /** Returns whether a level of this owner has a lock that is held. */
    boolean isHolding() {
        return levels().stream().anyMatch(LockLease::isHeld);
    }

    synchronized boolean isInside() {
        return innermost != null;
    }

    /** Returns the hold of a name that this owner entered first, and that goes on; null: there is none. */
    synchronized @Nullable ReentrantHold find(String name, LockMode mode) {
        ReentrantHold found = null;
        for (NestedLease level = innermost; level != null; level = level.outer) {
            ReentrantHold hold = level.find(name, mode);
            found = hold == null ? found : hold;
        }
        return found;
    }

    /** Returns how many levels this owner has of a name, for reading or not; 0 where it does not hold it. */
    int holdCount(String name, LockMode mode) {
        ReentrantHold hold = find(name, mode);
        return hold == null || !hold.lease().isHeld()
                ? 0
                : (int) levels().stream()
                        .filter(level -> level.isIn(hold) && level.reads() == (mode == LockMode.READ))
                        .count();
    }

    /** Returns the levels that this owner is inside of, the innermost first. */
    synchronized List<NestedLease> levels() {
        List<NestedLease> levels = new ArrayList<>();
        for (NestedLease level = innermost; level != null; level = level.outer) {
            levels.add(level);
        }
        return levels;
    }

    /** What was locked by one call, and is unlocked by one. */
    record Locked(Set<String> names, boolean reads) {

        static Locked by(LockRequest request) {
            return new Locked(Set.copyOf(request.names()), request.mode() == LockMode.READ);
        }
    }
}
