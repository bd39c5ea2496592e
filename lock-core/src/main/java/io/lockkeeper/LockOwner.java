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
 * What one owner, such as a thread, is inside of. Levels may be ended on other threads; everything else happens on the
 * thread of the owner.
 */
final class LockOwner {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    /** So many missing unlocks of different names are remembered for each owner. */
    private static final int MOST_OWED = 1_000;

    private final ReentrantHolds holds;

    /** The outermost first. */
    private final List<NestedLease> levels = new ArrayList<>(2);

    /** How many unlocks are missing of holds that ended by themselves. */
    private Map<Locked, Integer> owed = Map.of();

    LockOwner(ReentrantHolds holds) {
        this.holds = holds;
    }

    /** Puts this owner inside a level: what that holds, it enters again as if it had acquired it. */
    synchronized void enter(NestedLease level) {
        drop(LockOwner::hasLapsed);
        levels.add(level);
    }

    /** Takes this owner out of a level, on any thread. */
    synchronized void leave(NestedLease level) {
        levels.remove(level);
        forgetIfEmpty();
    }

    private static boolean hasLapsed(NestedLease level) {
        boolean lapsed = level.hasLapsed();
        if (lapsed) {
            log.warn(
                    "Lock '{}' was not unlocked before its lease time was over: call unlock() in a finally block",
                    String.join("', '", level.names()));
        }
        return lapsed;
    }

    private void forgetIfEmpty() {
        if (levels.isEmpty() && owed.isEmpty()) {
            holds.forgetThisThread(this);
        }
    }

    /** Forgets locks that have ended without their unlocks, which are owed from now on. */
    synchronized void drop(Predicate<NestedLease> ended) {
        levels.removeIf(level -> !level.body && ended.test(level) && owe(Locked.by(level.request)));
    }

    private boolean owe(Locked locked) {
        owed = owed.isEmpty() ? new LinkedHashMap<>(4) : owed;
        owed.merge(locked, 1, Integer::sum);
        if (owed.size() > MOST_OWED) {
            owed.remove(owed.keySet().iterator().next());
        }
        return true;
    }

    /** Takes one of the unlocks that are owed; false: there is none. */
    synchronized boolean takeOwed(Locked locked) {
        if (!owed.containsKey(locked)) {
            return false;
        }
        owed.computeIfPresent(locked, (known, count) -> count == 1 ? null : count - 1);
        forgetIfEmpty();
        return true;
    }

    /** Returns the last level that an unlock of this ends; null: there is none. */
    synchronized @Nullable NestedLease last(Locked locked) {
        NestedLease last = null;
        for (NestedLease level : levels) {
            last = !level.body && Locked.by(level.request).equals(locked) ? level : last;
        }
        return last;
    }

    /** Returns the hold of a name that this owner entered first, and that goes on; null: there is none. */
    synchronized @Nullable ReentrantHold find(String name, LockMode mode) {
        for (NestedLease level : levels) {
            ReentrantHold hold = level.find(name, mode);
            if (hold != null) {
                return hold;
            }
        }
        return null;
    }

    /** Returns how many levels this owner has of a name, for reading or not; 0 where it does not hold it. */
    synchronized int holdCount(String name, LockMode mode) {
        ReentrantHold hold = find(name, mode);
        return hold == null || !hold.lease().isHeld()
                ? 0
                : (int) levels.stream()
                        .filter(level -> level.isIn(hold)
                                && level.names().contains(name)
                                && level.reads() == (mode == LockMode.READ))
                        .count();
    }

    /** Returns the levels that this owner is inside of. */
    synchronized List<NestedLease> levels() {
        return List.copyOf(levels);
    }

    /** What was locked by one call, and is unlocked by one. */
    record Locked(Set<String> names, boolean reads) {

        static Locked by(LockRequest request) {
            return new Locked(Set.copyOf(request.names()), request.mode() == LockMode.READ);
        }
    }
}
