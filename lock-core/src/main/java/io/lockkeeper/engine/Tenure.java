/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.ReleaseResult;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
    final long begunNanos;
    private final List<Long> firstTokens;
    private volatile int state = HELD;
    private int passes;
    private int maxPasses;
    private volatile boolean alone;
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

    /** The lease of the one who holds the lock now; null: nobody, or readers. Changed by the cohort. */
    private volatile @Nullable HeldLease holder;

    /** The leases of the readers who hold the lock now; null: it is not for readers. Changed by the cohort. */
    private final @Nullable Set<HeldLease> readers;

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
        this.begunNanos = begun.nanos();
        this.deadline = deadline;
        this.fixedEnd = fixedEnd;
        this.readers = claim.isShared() ? ConcurrentHashMap.newKeySet() : null;
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

    /** Returns the leases of those who hold the lock now: one, or several readers. */
    Collection<HeldLease> holders() {
        HeldLease only = holder;
        return readers != null ? readers : only != null ? List.of(only) : List.of();
    }

    /** Returns the label of one of the holders; null: it has none, or there is nobody. */
    @Nullable
    String label() {
        Iterator<HeldLease> all = holders().iterator();
        return all.hasNext() ? all.next().request().label() : null;
    }

    void add(HeldLease lease) {
        if (readers != null) {
            readers.add(lease);
        } else {
            holder = lease;
        }
    }

    /** Takes a holder out; returns whether nobody is left. */
    boolean remove(HeldLease lease) {
        if (readers != null) {
            readers.remove(lease);
            return readers.isEmpty();
        }
        if (holder == lease) {
            holder = null;
        }
        return holder == null;
    }

    /** The attempt has the hold: while nobody else waits in the store, all its passes may be used. Guarded by the cohort. */
    void begunBy(Attempt asker) {
        alone = asker.isAlone();
        maxPasses = alone ? asker.passes : claim.maxPasses();
    }

    /** Others wait in the store now. Guarded by the cohort. */
    void awaited() {
        alone = false;
        maxPasses = claim.maxPasses();
    }

    /**
     * Lets the next holder go first where the hold was released and others may wait in the store: somebody had the lock
     * before it, or is known to have come. The store tells the next holder when it answers. Where both share processors, who
     * had the lock may want it again at once, and could only wait for it. Only the calling thread gives way.
     *
     * @return the result
     */
    @SuppressWarnings("ThreadPriorityCheck") // Nothing relies on it.
    ReleaseResult givingWay(ReleaseResult result) {
        if (result == ReleaseResult.RELEASED && isOver() && !alone) {
            Thread.yield();
        }
        return result;
    }

    /** Returns how often the next hold may pass: if nobody else came in this turn, as long as its time allows. */
    int passesOfNext() {
        return alone ? claim.maxPassesAlone() : claim.maxPasses();
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
        return state != HELD;
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
        synchronized (this) {
            if (state != HELD) {
                return false;
            }
            state = end;
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
