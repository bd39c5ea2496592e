/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A hold that the store granted to one attempt. One local caller after the other holds the lock within it, each with a
 * fencing token of its own from the reserved block; or several readers hold it together, with one token.
 */
final class StoreHold {

    /** Why leases are lost, as callers are told. */
    static final String SAYS_ENDED = "the store says that it ended";

    static final String NOT_RENEWED = "its lease ended before it was renewed";
    static final String TIME_OVER = "its lease time is over";

    /** One caller's lease within a hold. */
    interface Holder {

        /** The hold is lost; false: the lease had ended before. */
        boolean lost(String reason);

        /** Returns the label of its request; null: it has none. */
        @Nullable
        String label();

        /** Returns the end of this reader's own lease; null: that of the hold. */
        @Nullable
        ClockReading ownEnd();

        /** The end of this reader's own lease has passed. */
        void ownEndPassed();

        /** Returns how long the lock stays taken after this lease, in ms. */
        long keepMillis();
    }

    /** How it stands with a hold, and with a lease of it. */
    enum State {
        HELD,
        RELEASED,
        LOST
    }

    final AcquireSpec spec;
    final String attempt;
    final long begunNanos;
    private final List<Long> firstTokens;

    /** Changed under the lock of the local lock alone. */
    private volatile State state = State.HELD;

    /** Why it was lost. */
    private volatile String lossReason = "";

    /** How many callers hold the lock by this hold, or are about to. Guarded by the local lock. */
    int holders;

    /** How often it has passed on. Guarded by the local lock. */
    private int passes;

    private volatile int maxPasses;

    /** When the lock may be free at the earliest, on the monotonic clock. Guarded by the local lock. */
    private long freeNanos;

    /** Whether others wait in the store, or may. */
    private volatile boolean contended;

    private volatile ClockReading deadline;

    /** Whether the deadline was seen to have passed: no renewal brings the hold back. */
    private volatile boolean expired;

    /** The end of a fixed lease; null while the hold is renewed. */
    private volatile @Nullable ClockReading fixedEnd;

    /** When another end was asked for; null: never. */
    private @Nullable ClockReading limited;

    /** Whether the hold must not pass on, nor be joined. */
    private volatile boolean pinned;

    /** The exclusive attempt that this hold follows by a downgrade which the store has not confirmed; null: none. */
    volatile @Nullable String unconfirmed;

    /** When the renewer has to look at this hold, on the monotonic clock. Written by the renewer alone. */
    volatile long dueNanos;

    /** Whether a renewal is due then; false: the deadline. Written by the renewer alone. */
    volatile boolean renewalDue;

    /** The one who holds the lock now; null: no caller, or readers. */
    private volatile @Nullable Holder holder;

    /** The readers who hold the lock now; null: it is not for readers. */
    private final @Nullable Set<Holder> readers;

    StoreHold(
            AcquireSpec spec,
            String attempt,
            List<Long> firstTokens,
            ClockReading begun,
            ClockReading deadline,
            @Nullable ClockReading fixedEnd) {
        this.spec = spec;
        this.attempt = attempt;
        this.firstTokens = firstTokens;
        this.begunNanos = begun.nanos();
        this.freeNanos = begunNanos;
        this.deadline = deadline;
        this.fixedEnd = fixedEnd;
        this.maxPasses = spec.maxPasses();
        this.contended = true;
        this.readers = spec.isShared() ? ConcurrentHashMap.newKeySet(2) : null;
    }

    /** Returns the token of the present holder. Guarded by the local lock. */
    long token() {
        return firstTokens.get(0) + passes;
    }

    /** Returns the tokens of the present holder, in the order of the names. Guarded by the local lock. */
    List<Long> tokens() {
        return passes == 0 ? firstTokens : List.of(token());
    }

    /** The attempt found the store's queue empty: all the passes that it reserved may be used. Guarded by the local lock. */
    void uncontended(int reservedPasses) {
        contended = false;
        maxPasses = reservedPasses;
    }

    /** Others wait in the store now. */
    void contended() {
        contended = true;
        maxPasses = spec.maxPasses();
    }

    boolean isContended() {
        return contended;
    }

    /** Returns how often the next hold may pass: if no one else came in this turn, as long as its time allows. */
    int passesOfNext() {
        return contended ? spec.maxPasses() : spec.maxPassesUncontended();
    }

    /** Returns whether a token is left for another local caller. Guarded by the local lock. */
    boolean hasPasses() {
        return passes < maxPasses;
    }

    /** The next local caller has the hold. Guarded by the local lock. */
    void pass() {
        passes++;
    }

    /** One of its holders has ended, and keeps the lock taken for a while. Guarded by the local lock. */
    void keep(long millis, ClockReading now) {
        long end = now.nanos() + TimeUnit.MILLISECONDS.toNanos(millis);
        if (end - freeNanos > 0) {
            freeNanos = end;
        }
    }

    /** Returns how long the lock stays taken after its holders, in ms. Guarded by the local lock. */
    long keepMillis(ClockReading now) {
        return Math.max(0, (freeNanos - now.nanos() + 999_999) / 1_000_000);
    }

    /** Keeps the hold for those who have it now: one of them wants another end, or a writer waits. */
    void pin() {
        pinned = true;
    }

    boolean isPinned() {
        return pinned;
    }

    ClockReading deadline() {
        return deadline;
    }

    @Nullable
    ClockReading fixedEnd() {
        return fixedEnd;
    }

    /** Returns whether the hold is there, and its deadline has not passed. False stays false. */
    boolean isValid(ClockReading now) {
        return !isOver() && !isExpired(now);
    }

    /** Returns whether the deadline has passed, or was ever seen to have passed. */
    boolean isExpired(ClockReading now) {
        if (!expired && deadline.hasPassedAt(now)) {
            expired = true;
        }
        return expired;
    }

    /** Moves the deadline forward, at most to a fixed end. What has expired stays so. */
    synchronized void renewed(ClockReading newDeadline, ClockReading sent, ClockReading now) {
        if (isExpired(now) || (limited != null && !sent.isAfter(limited))) {
            return;
        }
        ClockReading end = fixedEnd;
        ClockReading next = end == null ? newDeadline : newDeadline.orEarlier(end);
        if (next.isAfter(deadline)) {
            deadline = next;
        }
    }

    /**
     * Moves the deadline back to a moment at which the store may end the hold. Only a renewal that is sent after this one
     * moves it forward again: the answer to an earlier one says nothing about the end that the store has now.
     */
    synchronized void limit(ClockReading end, ClockReading sent) {
        limited = sent;
        deadline = deadline.orEarlier(end);
    }

    /** Gives the hold a fixed end. What has expired stays so. */
    synchronized void fix(ClockReading end, ClockReading now) {
        if (!isExpired(now)) {
            fixedEnd = end;
            deadline = end;
        }
    }

    /** Returns why it is lost where its deadline has passed. */
    String endReason() {
        return fixedEnd == null ? NOT_RENEWED : TIME_OVER;
    }

    boolean isOver() {
        return state != State.HELD;
    }

    boolean isLost() {
        return state == State.LOST;
    }

    String lossReason() {
        return lossReason;
    }

    /** Ends the hold by release; false: it had ended before. Guarded by the local lock. */
    boolean end() {
        if (isOver()) {
            return false;
        }
        state = State.RELEASED;
        return true;
    }

    /** Ends the hold by loss; false: it had ended before. Guarded by the local lock. */
    boolean lose(String reason) {
        if (isOver()) {
            return false;
        }
        lossReason = reason;
        state = State.LOST;
        return true;
    }

    void add(Holder added) {
        if (readers != null) {
            readers.add(added);
        } else {
            holder = added;
        }
    }

    void remove(Holder removed) {
        if (readers != null) {
            readers.remove(removed);
        } else if (holder == removed) {
            holder = null;
        }
    }

    /** Returns the leases of those who hold the lock now: one, or several readers. */
    Collection<Holder> leases() {
        Holder only = holder;
        return readers != null ? readers : only != null ? List.of(only) : List.of();
    }

    /** Returns the label of one of the holders; null: it has none, or no holder is left. */
    @Nullable
    String label() {
        for (Holder any : leases()) {
            return any.label();
        }
        return null;
    }
}
