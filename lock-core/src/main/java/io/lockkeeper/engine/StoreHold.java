/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.ReleaseResult;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A hold that the store granted to one attempt. Local callers hold the lock within it one after the other, each with
 * its own fencing token from the reserved block; or several readers hold it together, with one token. Fields that are
 * not volatile are guarded by the local lock.
 */
final class StoreHold {

    static final String SAYS_ENDED = "the store says that it ended";
    static final String TIME_OVER = "its lease time is over";
    static final String NOT_RENEWED = "its lease ended before it was renewed";
    static final String RELEASED = "it was released";
    static final String DOWNGRADED = "it goes on as that of a reader";

    interface Holder {

        /** Ends the lease by a loss; false: it had ended before. */
        boolean lost(String reason);

        @Nullable
        String label();

        /** Returns the end of this reader's own lease; null: that of the hold. */
        @Nullable
        ClockReading ownEnd();

        void ownEndPassed();

        /** Returns how long the lock stays taken after this lease, in ms. */
        long keepMillis();
    }

    /** The locks' names, in the global order. */
    final List<String> names;

    final AcquireSpec spec;
    final AcquireSpec.AttemptId id;
    final long begunNanos;
    private final long firstToken;
    private volatile @Nullable String ended;

    /** The number of callers who hold the lock by this hold, or are about to. */
    int holders;

    private int passes;
    private short passesUncontended;

    /** Whether other instances wait in the store, or may. */
    volatile boolean contended = true;

    /** Whether it must not pass on, nor be joined: a holder wants another end, or a writer waits. */
    volatile boolean pinned;

    private volatile ClockReading deadline;

    /** The reason once the deadline was seen to have passed: no renewal revives the hold then; null: not seen. */
    private volatile @Nullable String expired;

    /** When to renew this hold, on the monotonic clock, or never. Written by the renewer. */
    volatile long renewalNanos = ClockReading.NEVER;

    /** The present holder; null: there is none. Readers are in a set instead. */
    private volatile @Nullable Holder holder;

    /** Null for most holds. */
    private volatile @Nullable Special special;

    /** State that most holds do not need: those that are exclusive, of one lock, and renewed until their release. */
    private static final class Special {

        /** The tokens of several locks, which never pass on; null: there is one. */
        @Nullable
        List<Long> tokens;

        @Nullable
        Set<Holder> readers;

        /** Null while the hold is renewed. */
        @Nullable
        volatile ClockReading fixedEnd;

        /** When another end was last requested; null: never. Guarded by the hold. */
        @Nullable
        ClockReading limited;

        /** The longest lease that was requested for it, in ms, if longer than its own. */
        volatile long mostMillis;

        /** When the lock may be free at the earliest, on the monotonic clock. Guarded by the local lock. */
        long freeNanos = ClockReading.NEVER;

        /** Whether its attempt is released by a second command, which may come before the first. */
        volatile boolean releasedTwice;

        /** The exclusive attempt that the hold follows by a downgrade which the store has not confirmed; or null. */
        @Nullable
        volatile String unconfirmed;
    }

    StoreHold(
            List<String> names,
            AcquireSpec spec,
            AcquireSpec.AttemptId id,
            List<Long> firstTokens,
            ClockReading begun,
            ClockReading deadline,
            @Nullable ClockReading fixedEnd) {
        this.names = names;
        this.spec = spec;
        this.id = id;
        this.firstToken = firstTokens.get(0);
        this.begunNanos = begun.nanos();
        this.deadline = deadline;
        if (firstTokens.size() > 1 || spec.isShared() || fixedEnd != null) {
            Special known = special();
            known.tokens = firstTokens;
            known.readers = spec.isShared() ? ConcurrentHashMap.newKeySet(2) : null;
            known.fixedEnd = fixedEnd;
        }
    }

    /** Creates the hold of a reader that follows this exclusive one; not {@link #confirmed} by the store yet. */
    StoreHold reader(AcquireSpec reading, AcquireSpec.AttemptId attempt, long token, ClockReading now) {
        StoreHold reader = new StoreHold(names, reading, attempt, List.of(token), now, deadline(), fixedEnd());
        reader.special().unconfirmed = attempt();
        return reader;
    }

    private synchronized Special special() {
        Special known = special;
        if (known == null) {
            known = new Special();
            special = known;
        }
        return known;
    }

    String name() {
        return names.get(0);
    }

    /** Returns the id of the attempt that has it, as the store knows it. */
    String attempt() {
        return id.toString();
    }

    /** Returns the exclusive attempt that may hold the lock still, as the store has not confirmed a downgrade. */
    @Nullable
    String unconfirmed() {
        Special known = special;
        return known == null ? null : known.unconfirmed;
    }

    void confirmed() {
        special().unconfirmed = null;
    }

    // ---- tokens, passes and holders ----

    /** Returns the token of the present holder, of the first lock. */
    long token() {
        return firstToken + passes;
    }

    /** Returns the token of one of several locks, by its place among the names. */
    long token(int index) {
        return Objects.requireNonNull(special().tokens).get(index);
    }

    /** No other instance waits in the store: the hold may use all passes that the attempt reserved. */
    void uncontended(int reservedPasses) {
        contended = false;
        // At most the number of tokens in a block, which fits into a short.
        passesUncontended = (short) reservedPasses;
    }

    /** Returns the passes of the next hold: limited by its time alone if no other instance has waited in this turn. */
    int passesOfNext() {
        return contended ? spec.maxPasses() : spec.maxPassesUncontended();
    }

    boolean hasPasses() {
        return passes < (contended ? spec.maxPasses() : passesUncontended);
    }

    void pass() {
        passes++;
    }

    /** A holder has ended, and the lock stays taken for its minimum hold time. */
    void keep(long millis, ClockReading now) {
        if (millis > 0) {
            Special known = special();
            long end = now.nanos() + TimeUnit.MILLISECONDS.toNanos(millis);
            if (known.freeNanos == ClockReading.NEVER || end - known.freeNanos > 0) {
                known.freeNanos = end;
            }
        }
    }

    /** Returns how long the lock stays taken after its holders, in ms. */
    long keepMillis(ClockReading now) {
        Special known = special;
        return known == null || known.freeNanos == ClockReading.NEVER
                ? 0
                : Math.max(0, (known.freeNanos - now.nanos() + 999_999) / 1_000_000);
    }

    private @Nullable Set<Holder> readers() {
        Special known = special;
        return known == null ? null : known.readers;
    }

    void add(Holder added) {
        Set<Holder> readers = readers();
        if (readers != null) {
            readers.add(added);
        } else {
            holder = added;
        }
    }

    void remove(Holder removed) {
        Set<Holder> readers = readers();
        if (readers != null) {
            readers.remove(removed);
        } else if (holder == removed) {
            holder = null;
        }
    }

    Collection<Holder> leases() {
        Set<Holder> readers = readers();
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

    // ---- its end in time ----

    ClockReading deadline() {
        return deadline;
    }

    @Nullable
    ClockReading fixedEnd() {
        Special known = special;
        return known == null ? null : known.fixedEnd;
    }

    /** Returns whether it is held, and its deadline has not passed. False stays false. */
    boolean isValid(ClockReading now) {
        return !isOver() && !isExpired(now);
    }

    boolean isExpired(ClockReading now) {
        if (expired == null && deadline.hasPassedAt(now)) {
            ClockReading end = fixedEnd();
            // A hold granted by a message is short, and ends before its fixed end if the store does not confirm it.
            expired = end == null || !end.hasPassedAt(now) ? NOT_RENEWED : TIME_OVER;
        }
        return expired != null;
    }

    /** Moves the deadline forward, at most to a fixed end. What has expired stays so. */
    synchronized void renewed(ClockReading newDeadline, ClockReading sent, ClockReading now) {
        ClockReading end = fixedEnd();
        ClockReading next = end == null ? newDeadline : newDeadline.orEarlier(end);
        ClockReading limited = special == null ? null : special.limited;
        boolean counts = limited == null || sent.isAfter(limited);
        // By both clocks: after a suspension the monotonic clock alone would make an old grant's deadline seem later.
        long gain = next.nanosFrom(now) - deadline.nanosFrom(now);
        // Equal within the wall clock's millisecond: else a hold just before its fixed end would be renewed for ever.
        boolean later = gain > 0 || (gain == 0 && (next.isAfter(deadline) || next.equals(end)));
        if (counts && !isExpired(now) && later) {
            deadline = next;
        }
    }

    /**
     * Moves the deadline back to a moment at which the store may end the hold. Only the answer to a renewal that is
     * sent later moves it forward again: an earlier one says nothing about the new end.
     */
    synchronized void limit(ClockReading end, ClockReading sent) {
        special().limited = sent;
        deadline = deadline.orEarlier(end);
    }

    /** Records a lease that is requested from the store. */
    synchronized void asksFor(long millis) {
        special().mostMillis = Math.max(special().mostMillis, millis);
    }

    long mostMillis() {
        Special known = special;
        return Math.max(spec.leaseMillis(), known == null ? 0 : known.mostMillis);
    }

    synchronized void fix(ClockReading end, ClockReading now) {
        if (!isExpired(now)) {
            special().fixedEnd = end;
            deadline = end;
        }
    }

    // ---- its end ----

    boolean isOver() {
        return ended != null;
    }

    /** Its attempt is released a second time: if the store does not know it then, that is no proof of a loss. */
    void releasedTwice() {
        special().releasedTwice = true;
    }

    /** Returns the result of a release whose hold the store does not know. */
    ReleaseResult unknownToStore() {
        Special known = special;
        return known != null && known.releasedTwice ? ReleaseResult.UNKNOWN : ReleaseResult.LOST;
    }

    boolean isReleased() {
        return RELEASED.equals(ended);
    }

    boolean isLost() {
        return isOver() && !isReleased() && !isDowngraded();
    }

    /** Returns whether it has gone on as that of a reader. */
    boolean isDowngraded() {
        return DOWNGRADED.equals(ended);
    }

    /** Returns why it has ended, or ends now because its deadline has passed. */
    String endReason() {
        String known = ended;
        return known != null ? known : Objects.requireNonNullElse(expired, NOT_RENEWED);
    }

    /** Returns why it ends when the store says so: its deadline may have passed before, during a suspension. */
    String endReasonByStore(ClockReading now) {
        return isExpired(now) ? endReason() : SAYS_ENDED;
    }

    void end() {
        lose(RELEASED);
    }

    boolean lose(String reason) {
        boolean first = !isOver();
        ended = first ? reason : ended;
        return first;
    }
}
