/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A hold that the store granted to one attempt. One local caller after the other holds the lock within it, each with a
 * fencing token of its own from the reserved block; or several readers hold it together, with one token.
 */
final class Tenure {

    private static final int HELD = 0;
    private static final int ENDED = 1;
    private static final int LOST = 2;

    final Cohort cohort;
    final Claim claim;
    final String attempt;
    final Moment begun;
    private final List<Long> firstTokens;
    private final AtomicInteger state = new AtomicInteger(HELD);
    private int passes;
    private int maxPasses;
    private boolean alone;
    private volatile Moment deadline;
    private volatile boolean mayPass = true;

    /** The hold that this one follows by a downgrade, while the store has not confirmed that; null: none. */
    private volatile @Nullable Tenure unconfirmed;

    /** When another end was asked for; null: never. */
    private @Nullable Moment limited;

    /** The end of a fixed lease; null while the hold is renewed. */
    private volatile @Nullable Moment fixedEnd;

    /** Where the watchdog's next task for this hold waits; null: there is none. Changed by the {@link TenureTimer}. */
    volatile TenureTimer.@Nullable Slot slot;

    /** The place in the slot; guarded by the timer. */
    int place;

    /** The watchdog's next task, or its last one. */
    Consumer<Tenure> task = none -> {};

    /** The leases of those who hold the lock now: one, or several readers. Changed by the cohort. */
    private volatile Collection<HeldLease> holders;

    Tenure(
            Cohort cohort,
            String attempt,
            List<Long> firstTokens,
            Moment begun,
            Moment deadline,
            @Nullable Moment fixedEnd) {
        this.cohort = cohort;
        this.claim = cohort.claim();
        this.attempt = attempt;
        this.maxPasses = claim.maxPasses();
        this.firstTokens = firstTokens;
        this.begun = begun;
        this.deadline = deadline;
        this.fixedEnd = fixedEnd;
        this.holders = claim.isShared() ? ConcurrentHashMap.newKeySet() : List.of();
    }

    /** Returns the token of the present holder. Guarded by the cohort. */
    long token() {
        return firstTokens.get(0) + passes;
    }

    /** Returns the tokens of the present holder, in the order of the claim's names. Guarded by the cohort. */
    List<Long> tokens() {
        return passes == 0 ? firstTokens : List.of(token());
    }

    void begunAfter(@Nullable Tenure before) {
        unconfirmed = before;
    }

    @Nullable
    Tenure unconfirmed() {
        return unconfirmed;
    }

    Collection<HeldLease> holders() {
        return holders;
    }

    /** Returns the label of one of the holders; null: it has none, or there is nobody. */
    @Nullable
    String label() {
        Iterator<HeldLease> all = holders.iterator();
        return all.hasNext() ? all.next().request().label() : null;
    }

    void add(HeldLease lease) {
        if (claim.isShared()) {
            holders.add(lease);
        } else {
            holders = List.of(lease);
        }
    }

    /** Takes a holder out; returns whether nobody is left. */
    boolean remove(HeldLease lease) {
        if (claim.isShared()) {
            holders.remove(lease);
        } else if (holders.contains(lease)) {
            holders = List.of();
        }
        return holders.isEmpty();
    }

    /** Nobody else waited in the store when it gave the hold, which may pass on so often. Guarded by the cohort. */
    void begunAlone(int mostPasses) {
        alone = true;
        maxPasses = mostPasses;
    }

    /** Others wait in the store now. Guarded by the cohort. */
    void awaited() {
        alone = false;
        maxPasses = claim.maxPasses();
    }

    /** Returns whether nobody else waits in the store, as far as is known. Guarded by the cohort. */
    boolean isAlone() {
        return alone;
    }

    /** Returns whether the hold may pass on once more. Guarded by the cohort. */
    boolean hasPasses() {
        return passes < maxPasses;
    }

    void pass() {
        passes++;
    }

    Moment deadline() {
        return deadline;
    }

    @Nullable
    Moment fixedEnd() {
        return fixedEnd;
    }

    /** Moves the deadline forward, at most to a fixed end; it never moves back, but for a caller who asks for that end. */
    synchronized void renewed(Moment newDeadline, Moment sent) {
        if (limited != null && !sent.isAfter(limited)) {
            return;
        }
        Moment end = fixedEnd;
        Moment next = end != null && newDeadline.isAfter(end) ? end : newDeadline;
        if (next.isAfter(deadline)) {
            deadline = next;
        }
    }

    /**
     * Moves the deadline back to a moment at which the store may end the hold. Only a renewal that is sent after this one
     * moves it forward again: the answer to an earlier one says nothing about the end that the store has now.
     */
    synchronized void limit(Moment end, Moment sent) {
        limited = sent;
        if (deadline.isAfter(end)) {
            deadline = end;
        }
    }

    /** The present holder asks for another end: nobody after it may have this hold. */
    void keepFromPassing() {
        mayPass = false;
    }

    boolean mayPass() {
        return mayPass;
    }

    synchronized void fix(Moment end) {
        fixedEnd = end;
        deadline = end;
    }

    boolean isOver() {
        return state.get() != HELD;
    }

    boolean isValid(TimeSource time) {
        return !isOver() && !deadline.hasPassed(time);
    }

    /** Ends the hold by release; false: it had ended before. */
    boolean end() {
        return finish(ENDED);
    }

    /** Ends the hold by loss; false: it had ended before. */
    boolean lose() {
        return finish(LOST);
    }

    private boolean finish(int end) {
        if (!state.compareAndSet(HELD, end)) {
            return false;
        }
        leaveSlot();
        return true;
    }

    /** Takes back the watchdog's next task. */
    void leaveSlot() {
        TenureTimer.Slot waiting = slot;
        if (waiting != null) {
            waiting.remove(this);
        }
    }
}
