/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryRecord.Place;
import io.lockkeeper.memory.MemoryRecord.Work;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The commands over the records of locks: what the scripts are for the Redis store, step by step. */
final class MemoryScripts {

    /**
     * Nobody can do anything with a shorter hold: where the command timeout is shorter, a late copy may have one so
     * long.
     */
    private static final long SHORTEST_MILLIS = 250;

    private MemoryScripts() {}

    /**
     * When a command was sent and what it says of waiting.
     *
     * @param sent the earliest time of the store at which it was sent, us
     * @param notAfter the last time of the store at which it may run, ms
     * @param aliveMillis how long a place in the queue is kept
     * @param grantMillis how long a grant lasts
     */
    record Sending(long sent, long notAfter, long aliveMillis, long grantMillis) {}

    /** Does what {@code acquire.lua} does; empty: the command came too late. */
    static Optional<AcquireReply> acquire(
            List<MemoryRecord> records, AcquireCommand command, Sending sending, long micros) {
        long now = micros / 1_000;
        String me = command.attempt();
        boolean ended = false;
        Work work = new Work();
        for (MemoryRecord record : records) {
            record.begin(work);
            ended |= record.hasEnded(me);
        }
        if (now > sending.notAfter()) {
            return Optional.empty();
        }
        if (ended) {
            return Optional.of(new AcquireReply.Ended());
        }
        boolean doubtful = isDoubtful(records, sending.sent(), micros);
        long left = doubtful ? Math.min(command.leaseMillis(), sending.notAfter() - now) : command.leaseMillis();
        boolean hasty = doubtful && sending.notAfter() - sending.sent() / 1_000 < SHORTEST_MILLIS;
        long lease = hasty ? Math.min(command.leaseMillis(), SHORTEST_MILLIS) : left;
        int blocked = firstBlocked(records, command, micros);
        boolean mayTake = blocked == records.size() || command.queue();
        boolean takes = false;
        for (int i = 0; mayTake && i < blocked; i++) {
            takes |= !records.get(i).isHolder(me, now);
        }
        if (takes && 4 * left < 3 * Math.min(command.leaseMillis(), sending.notAfter() - sending.sent() / 1_000)) {
            return Optional.empty();
        }
        if (blocked == records.size()) {
            return Optional.of(take(records, command, lease, micros));
        }
        MemoryRecord busy = records.get(blocked);
        boolean before = busy.isToBeAskedAgain(command.mode());
        String holder = busy.holder();
        long remaining = busy.holdEnd() - now;
        if (doubtful && blocked > 0) {
            remaining = Math.min(remaining, lease / 2);
        }
        long waitingLease = doubtful ? lease : Math.max(lease, sending.aliveMillis());
        waitFor(records, blocked, command, sending, waitingLease, micros);
        boolean again = before || records.stream().skip(blocked + 1L).anyMatch(MemoryRecord::isToBeAskedAgain);
        holder = again ? "" : holder;
        return Optional.of(
                command.queue()
                        ? new AcquireReply.Queued(holder, again ? 0 : remaining, now)
                        : new AcquireReply.Busy(holder));
    }

    /**
     * Takes out what is over, and returns whether a hold began or ended, or a waiter left, since a command was sent.
     */
    private static boolean isDoubtful(List<MemoryRecord> records, long sent, long micros) {
        boolean doubtful = false;
        for (MemoryRecord record : records) {
            record.endLapsedHolds(micros / 1_000);
            if (record.owner.isEmpty()) {
                record.firstLive(micros);
            }
            doubtful |= record.since >= sent && record.since <= micros;
        }
        return doubtful;
    }

    /** Returns the place of the first lock that an attempt cannot have; the number of locks where it can have all. */
    private static int firstBlocked(List<MemoryRecord> records, AcquireCommand command, long micros) {
        for (int i = 0; i < records.size(); i++) {
            MemoryRecord record = records.get(i);
            Place head = record.serve(command.attempt(), micros);
            boolean behind =
                    record.unsettled || (head != null && !head.attempt().equals(command.attempt()));
            if (!record.isHolder(command.attempt(), micros / 1_000) && (behind || !record.isFreeFor(command.mode()))) {
                return i;
            }
        }
        return records.size();
    }

    private static AcquireReply take(List<MemoryRecord> records, AcquireCommand command, long lease, long micros) {
        long now = micros / 1_000;
        String me = command.attempt();
        boolean fresh = false;
        for (MemoryRecord record : records) {
            fresh |= !record.isHolder(me, now);
        }
        long held = fresh ? lease : command.leaseMillis();
        List<Long> firstTokens = new ArrayList<>(records.size());
        for (MemoryRecord record : records) {
            if (record.isHolder(me, now)) {
                long ends = fresh ? now + lease : Math.max(record.endOf(me), now + lease);
                held = Math.min(held, ends - now);
                record.prolong(me, ends, micros);
                firstTokens.add(record.firstToken(me));
            } else {
                firstTokens.add(record.own(me, command.mode(), lease, command.tokens(), false, micros));
                record.serve(null, micros);
            }
        }
        return new AcquireReply.Acquired(held, firstTokens);
    }

    private static void waitFor(
            List<MemoryRecord> records,
            int blocked,
            AcquireCommand command,
            Sending sending,
            long waitingLease,
            long micros) {
        long now = micros / 1_000;
        String me = command.attempt();
        for (int i = 0; i < records.size(); i++) {
            MemoryRecord record = records.get(i);
            if (i > blocked) {
                letGo(record, me, micros);
            } else if (command.queue() && i == blocked) {
                record.tellOwner();
                record.enqueue(me, command.mode(), sending, command.tokens(), now);
            } else if (command.queue() && record.isHolder(me, now)) {
                record.prolong(me, Math.max(record.endOf(me), now + waitingLease), micros);
            } else if (command.queue()) {
                record.own(me, command.mode(), waitingLease, command.tokens(), false, micros);
                record.serve(null, micros);
            }
        }
    }

    private static void letGo(MemoryRecord record, String attempt, long micros) {
        record.leaveQueue(attempt, micros);
        if (record.isHolder(attempt, micros / 1_000)) {
            String previous = record.previous;
            boolean revoked = record.previousRevoked;
            record.endHold(attempt, 0, micros);
            record.previous = previous;
            record.previousRevoked = revoked;
        }
        record.serve(null, micros);
    }

    /** Does what {@code release.lua} does. */
    static ReleaseReply release(
            List<MemoryRecord> records, String attempt, long lastToken, long keepMillis, long micros) {
        List<ReleaseReply> replies = new ArrayList<>(records.size());
        Work work = new Work();
        for (MemoryRecord record : records) {
            record.begin(work);
            replies.add(release(record, attempt, replies.isEmpty() ? lastToken : 0, keepMillis, micros));
        }
        return Collections.max(replies);
    }

    private static ReleaseReply release(MemoryRecord record, String me, long lastToken, long keepMillis, long micros) {
        long now = micros / 1_000;
        boolean owns = record.owner.equals(me);
        if (record.isHolder(me, now) || (owns && !record.kept)) {
            long before = record.holdEnd();
            if (owns) {
                record.takeBack(lastToken);
            }
            record.endHold(me, record.isHolder(me, now) ? keepMillis : 0, micros);
            record.endLapsedHolds(now);
            record.serve(null, micros);
            if (record.holdEnd() < before) {
                record.tellEnd(record.firstLive(micros), now);
            }
            return ReleaseReply.RELEASED;
        }
        if (record.isQueued(me)) {
            boolean first = record.isFirst(me);
            record.leaveQueue(me, micros);
            record.endLapsedHolds(now);
            record.serve(null, micros);
            if (first) {
                record.tellEnd(record.firstLive(micros), now);
            }
            return ReleaseReply.LEFT_QUEUE;
        }
        record.endLapsedHolds(now);
        record.serve(null, micros);
        boolean revoked = record.previousRevoked && record.previous.equals(me);
        return record.hasEnded(me) && !revoked ? ReleaseReply.ALREADY_RELEASED : ReleaseReply.NOT_HELD;
    }

    /** Does what {@code handover.lua} does; empty: the command came too late. */
    static Optional<HandOverReply> handOver(
            MemoryRecord record, HandOverCommand command, Sending sending, long micros) {
        long now = micros / 1_000;
        if (now > sending.notAfter()) {
            return Optional.empty();
        }
        record.begin(new Work());
        String me = command.attempt();
        AcquireCommand next = command.next();
        String after = next.attempt();
        if (record.isHolder(after, now)) {
            record.prolong(after, Math.max(record.endOf(after), now + next.leaseMillis()), micros);
            record.serve(null, micros);
            return Optional.of(acquired(next, record.firstToken(after)));
        }
        if (record.hasEnded(after)) {
            return Optional.of(new HandOverReply(false, new AcquireReply.Ended()));
        }
        boolean owns = record.owner.equals(me);
        if (!record.isHolder(me, now) && (!owns || record.kept)) {
            return Optional.of(
                    record.isQueued(after) ? queued(record, now) : new HandOverReply(false, new AcquireReply.Ended()));
        }
        if (owns) {
            record.takeBack(command.lastToken());
        }
        record.endHold(me, 0, micros);
        record.endLapsedHolds(now);
        @Nullable Place head = command.ahead() ? null : record.serve(after, micros);
        boolean first = head == null || head.attempt().equals(after);
        if (!record.unsettled && first && record.isFreeFor(next.mode())) {
            long token = record.own(after, next.mode(), next.leaseMillis(), next.tokens(), false, micros);
            record.serve(null, micros);
            return Optional.of(acquired(next, token));
        }
        record.enqueue(after, next.mode(), sending, next.tokens(), now);
        return Optional.of(
                record.isToBeAskedAgain(next.mode())
                        ? new HandOverReply(true, new AcquireReply.Queued("", 0, now))
                        : queued(record, now));
    }

    private static HandOverReply acquired(AcquireCommand next, long firstToken) {
        return new HandOverReply(true, new AcquireReply.Acquired(next.leaseMillis(), List.of(firstToken)));
    }

    private static HandOverReply queued(MemoryRecord record, long now) {
        return new HandOverReply(
                true, new AcquireReply.Queued(record.holder(), Math.max(0, record.holdEnd() - now), now));
    }

    /** Does what {@code renew.lua} does for one lock. */
    static boolean renew(MemoryRecord record, RenewCommand command, long micros) {
        long now = micros / 1_000;
        if (!record.isHolder(command.attempt(), now)) {
            return false;
        }
        long end = now + command.leaseMillis();
        record.prolong(
                command.attempt(), command.exact() ? end : Math.max(end, record.endOf(command.attempt())), micros);
        record.raise(command.leastToken());
        return true;
    }

    /** Does what {@code revoke.lua} does. */
    static boolean revoke(MemoryRecord record, long micros) {
        record.begin(new Work());
        record.endLapsedHolds(micros / 1_000);
        boolean held = !record.holder().isEmpty();
        record.revoke(micros);
        return held;
    }
}
