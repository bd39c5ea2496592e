/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The levels of one owner, such as a thread, and the unlocks that it owes. Immutable.
 *
 * @param levels the outermost first
 * @param owed the missing unlocks of locks that ended by themselves, the last one last
 */
record LockOwner(List<NestedLease> levels, List<Owed> owed) {

    /** The number of unlocks that are missing for a request. */
    record Owed(LockRequest request, int unlocks) {}

    /** An owner without levels. */
    static final LockOwner OUTSIDE = new LockOwner(List.of(), List.of());

    /** The number of locks whose missing unlocks are remembered for each owner. */
    private static final int MOST_OWED = 1_000;

    LockOwner enter(NestedLease level) {
        return new LockOwner(plus(levels, level), owed);
    }

    LockOwner leave(NestedLease level) {
        return new LockOwner(minus(levels, level), owed);
    }

    /** Removes a lock that has ended without its unlock, which the owner owes from now on. */
    LockOwner owe(NestedLease ended) {
        Owed known = owed(ended.request);
        List<Owed> others =
                known != null ? minus(owed, known) : owed.size() < MOST_OWED ? owed : owed.subList(1, MOST_OWED);
        Owed more = new Owed(ended.request, known == null ? 1 : known.unlocks() + 1);
        return new LockOwner(minus(levels, ended), plus(others, more));
    }

    /** Counts one missing unlock of a request as done, if there is one. */
    LockOwner pay(LockRequest request) {
        Owed known = owed(request);
        if (known == null) {
            return this;
        }
        List<Owed> others = minus(owed, known);
        int left = known.unlocks() - 1;
        return new LockOwner(levels, left == 0 ? others : plus(others, new Owed(known.request(), left)));
    }

    /** Returns the missing unlocks for a request; null: there are none. */
    @Nullable
    Owed owed(LockRequest request) {
        return last(owed, known -> isSame(known.request(), request));
    }

    /** Returns whether this owner is inside no body of a hold, and at most has to unlock it. */
    boolean hasOnlyLocksOf(ReentrantHold hold) {
        return levels.stream().noneMatch(level -> level.kind != NestedLease.Kind.LOCK && level.isIn(hold));
    }

    boolean isOutside() {
        return levels.isEmpty() && owed.isEmpty();
    }

    /** Returns the last level that an unlock for a request ends; null: there is none. */
    @Nullable
    NestedLease lastLocked(LockRequest request) {
        return last(levels, level -> level.kind == NestedLease.Kind.LOCK && isSame(level.request, request));
    }

    /** Returns whether two requests are for the same locks: one call of unlock ends what one call has locked. */
    private static boolean isSame(LockRequest one, LockRequest other) {
        return (one.mode() == LockMode.READ) == (other.mode() == LockMode.READ)
                && one.names().size() == other.names().size()
                && one.names().containsAll(other.names());
    }

    /** Returns the hold of a name that this owner entered first, unless that is over; null: there is none. */
    @Nullable
    ReentrantHold find(String name, LockMode mode) {
        // Without an iterator, because every acquisition looks here, and most find no level.
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
