/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What one owner, such as a thread, is inside of. Immutable.
 *
 * @param levels the outermost first
 * @param owed the missing unlocks of locks that ended by themselves, the last one last
 */
record LockOwner(List<NestedLease> levels, List<Owed> owed) {

    /** How many unlocks are missing of what was locked by a request. */
    record Owed(LockRequest request, int unlocks) {}

    /** An owner that is inside of nothing. */
    static final LockOwner OUTSIDE = new LockOwner(List.of(), List.of());

    /** The number of locks whose missing unlocks are remembered for each owner. */
    private static final int MOST_OWED = 1_000;

    LockOwner enter(NestedLease level) {
        return new LockOwner(plus(levels, level), owed);
    }

    LockOwner leave(NestedLease level) {
        return new LockOwner(minus(levels, level), owed);
    }

    /** Leaves a lock that has ended without its unlock, which is owed from now on. */
    LockOwner owe(NestedLease ended) {
        Owed known = owed(ended.request);
        List<Owed> others =
                known != null ? minus(owed, known) : owed.size() < MOST_OWED ? owed : owed.subList(1, MOST_OWED);
        Owed more = new Owed(ended.request, known == null ? 1 : known.unlocks() + 1);
        return new LockOwner(minus(levels, ended), plus(others, more));
    }

    /** Takes one of the missing unlocks of what was locked so, if there is one. */
    LockOwner pay(LockRequest request) {
        Owed known = owed(request);
        if (known == null) {
            return this;
        }
        List<Owed> others = minus(owed, known);
        int left = known.unlocks() - 1;
        return new LockOwner(levels, left == 0 ? others : plus(others, new Owed(known.request(), left)));
    }

    /** Returns the missing unlocks of what was locked as by a request; null: there are none. */
    @Nullable
    Owed owed(LockRequest request) {
        return last(owed, known -> isSame(known.request(), request));
    }

    /** Returns whether this owner only has to unlock a hold, if anything: it is inside no body of it. */
    boolean hasOnlyLocksOf(ReentrantHold hold) {
        return levels.stream().noneMatch(level -> level.kind != NestedLease.Kind.LOCK && level.isIn(hold));
    }

    boolean isOutside() {
        return levels.isEmpty() && owed.isEmpty();
    }

    /** Returns the last level that an unlock of this ends; null: there is none. */
    @Nullable
    NestedLease lastLocked(LockRequest request) {
        return last(levels, level -> level.kind == NestedLease.Kind.LOCK && isSame(level.request, request));
    }

    /** Returns whether one call locks what the other does: what is locked by one call is unlocked by one. */
    private static boolean isSame(LockRequest one, LockRequest other) {
        return (one.mode() == LockMode.READ) == (other.mode() == LockMode.READ)
                && one.names().size() == other.names().size()
                && one.names().containsAll(other.names());
    }

    /** Returns the hold of a name that this owner entered first, and that goes on; null: there is none. */
    @Nullable
    ReentrantHold find(String name, LockMode mode) {
        // Without an iterator: every acquisition looks here, mostly at nothing.
        ReentrantHold found = null;
        for (int i = 0; found == null && i < levels.size(); i++) {
            found = levels.get(i).find(name, mode);
        }
        return found;
    }

    /** Returns the leases of the holds of all names of a request. */
    List<LockManager.Lease> leases(LockRequest request) {
        return request.names().stream()
                .map(name -> find(name, request.mode()))
                .filter(Objects::nonNull)
                .map(ReentrantHold::lease)
                .distinct()
                .toList();
    }

    /** Returns how often this owner has entered each name, for reading or not, beside what is kept; 0: not at all. */
    IntStream holdCounts(LockRequest request) {
        return request.names().stream().mapToInt(name -> holdCount(name, request.mode()));
    }

    private int holdCount(String name, LockMode mode) {
        ReentrantHold hold = find(name, mode);
        return hold == null || !hold.lease().isHeld()
                ? 0
                : (int) levels.stream()
                        .filter(level -> level.kind != NestedLease.Kind.KEPT
                                && level.isIn(hold)
                                && level.names().contains(name)
                                && level.reads() == (mode == LockMode.READ))
                        .count();
    }

    private static <T> @Nullable T last(List<T> all, Predicate<T> condition) {
        T last = null;
        for (T one : all) {
            last = condition.test(one) ? one : last;
        }
        return last;
    }

    static <T> List<T> plus(List<T> all, T one) {
        if (all.isEmpty()) {
            return List.of(one);
        }
        List<T> more = new ArrayList<>(all.size() + 1);
        more.addAll(all);
        more.add(one);
        return more;
    }

    /** Returns a list without the last of its elements that is equal to a given one. */
    static <T> List<T> minus(List<T> all, T one) {
        int last = all.lastIndexOf(one);
        if (last < 0) {
            return all;
        } else if (all.size() == 1) {
            return List.of();
        }
        List<T> rest = new ArrayList<>(all);
        rest.remove(last);
        return rest;
    }
}
