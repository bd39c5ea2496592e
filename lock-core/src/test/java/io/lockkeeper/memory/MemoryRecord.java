/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryScripts.Sending;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoredLock;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The record of one lock and its steps: what {@code record.lua} is for the Redis store, function by function. Not safe
 * for several threads. All times are those of the store's clock.
 */
final class MemoryRecord {

    private static final int CLIENT_ID_LENGTH = 12;

    final String name;
    ClaimMode mode = ClaimMode.EXCLUSIVE;
    String owner = "";
    long token;
    long first;
    long ends;
    long since;
    String previous = "";
    boolean granted;
    boolean kept;
    boolean previousRevoked;
    long started;
    long head = 1;
    long tail = 1;
    long latest;
    boolean unsettled;
    final Map<String, Reader> readers = new LinkedHashMap<>();
    final Map<String, Place> queue = new LinkedHashMap<>();
    /** Clients that are gone: their places with lower numbers are dead. */
    final Map<String, Long> gone = new HashMap<>();

    /** How many places a command passes, and how many grants it gives; nothing else works inside one JVM meanwhile. */
    int most = Integer.MAX_VALUE;

    private Work work = new Work();
    private final Outbox outbox;

    /** What a command has done so far, in all its records together. */
    static final class Work {
        private int passed;
        private int served;
    }

    /** The state of a reader's hold. */
    enum ReaderState {
        GRANTED,
        HELD,
        KEPT
    }

    /**
     * An attempt that holds the lock with others.
     *
     * @param until when its hold ends
     * @param state what its hold is
     */
    record Reader(long until, ReaderState state) {}

    /**
     * A waiting attempt.
     *
     * @param number its place in the order of arrival
     * @param attempt its id
     * @param mode how it wants to hold the lock
     * @param aliveUntil until when it is taken to be alive
     * @param grantMillis how long a grant lasts
     * @param tokens how many fencing tokens it needs
     */
    record Place(long number, String attempt, ClaimMode mode, long aliveUntil, long grantMillis, int tokens) {}

    MemoryRecord(String name, long lastToken, Outbox outbox) {
        this.name = name;
        this.token = lastToken;
        this.outbox = outbox;
    }

    long holdEnd() {
        long end = owner.isEmpty() ? 0 : ends;
        for (Reader reader : owner.isEmpty() ? readers.values() : List.<Reader>of()) {
            end = Math.max(end, reader.until());
        }
        return end;
    }

    String holder() {
        return owner.isEmpty() && !readers.isEmpty()
                ? readers.keySet().iterator().next()
                : owner;
    }

    /** A command begins. */
    void begin(Work ofCommand) {
        work = ofCommand;
        unsettled = false;
    }

    /** Returns whether this command left waiters for the next one because there were many. */
    boolean isLimited() {
        return unsettled || work.served == most;
    }

    /** Returns whether those who can have the lock wait only because the command has done enough. */
    boolean isToBeAskedAgain() {
        return unsettled && owner.isEmpty();
    }

    /** Returns whether an attempt waits only because the command has done enough for others. */
    boolean isToBeAskedAgain(ClaimMode mode) {
        return unsettled && isFreeFor(mode);
    }

    boolean isQueued(String attempt) {
        Place place = queue.get(attempt);
        return place != null && !isGone(place);
    }

    boolean isGone(Place place) {
        return place.number() < gone.getOrDefault(client(place.attempt()), 0L);
    }

    boolean isFirst(String attempt) {
        Place place = queue.get(attempt);
        return place != null && place.number() == head;
    }

    /** Puts an attempt at the end of the queue, or notes that it still waits, where that was noted long ago. */
    void enqueue(String attempt, ClaimMode wanted, Sending sending, int tokens, long now) {
        Place old = isQueued(attempt) ? queue.get(attempt) : null;
        long alive = sending.aliveMillis();
        if (old != null && (old.aliveUntil() - now) * 8 >= alive * 5) {
            return;
        }
        if (old == null) {
            queue.remove(attempt);
        }
        long number = old == null ? tail++ : old.number();
        queue.put(attempt, new Place(number, attempt, wanted, now + alive, sending.grantMillis(), tokens));
        latest = Math.max(latest, now + alive);
    }

    /** Tells an owner whose client knew of nobody else that others wait. */
    void tellOwner() {
        String awaited = owner;
        if (queue.isEmpty() && !awaited.isEmpty() && !granted && token - first + 1 >= AcquireCommand.MOST_TOKENS) {
            outbox.send(awaited, listener -> listener.awaited(awaited));
        }
    }

    void leaveQueue(String attempt, long micros) {
        if (isQueued(attempt)) {
            removeWaiter(attempt);
            since = micros;
        }
    }

    private void removeWaiter(String attempt) {
        Place left = queue.remove(attempt);
        head += left != null && left.number() == head ? 1 : 0;
        if (queue.isEmpty()) {
            dropQueue();
        }
    }

    private void dropQueue() {
        queue.clear();
        gone.clear();
        head = 1;
        tail = 1;
        latest = 0;
    }

    void endLapsedHolds(long now) {
        if (!owner.isEmpty() && ends <= now) {
            if (granted) {
                forgetClient(owner);
            }
            disown();
            since = Math.max(since, ends * 1_000);
        }
        if (readers.isEmpty()) {
            return;
        }
        readers.entrySet().removeIf(entry -> {
            boolean lapsed = entry.getValue().until() <= now;
            if (lapsed && entry.getValue().state() == ReaderState.GRANTED) {
                forgetClient(entry.getKey());
            }
            since = lapsed ? Math.max(since, entry.getValue().until() * 1_000) : since;
            return lapsed;
        });
    }

    /** Nobody confirmed a grant in time: that client is gone, with all its waiters. */
    private void forgetClient(String attempt) {
        if (!queue.isEmpty()) {
            gone.put(client(attempt), tail);
        }
    }

    private void disown() {
        owner = "";
        granted = false;
        kept = false;
    }

    private static String client(String attempt) {
        return attempt.substring(0, CLIENT_ID_LENGTH);
    }

    /** Returns the first waiter that is alive, after those before it were taken out; null where too many are dead. */
    @Nullable
    Place firstLive(long micros) {
        long now = micros / 1_000;
        if (!queue.isEmpty() && latest < now) {
            since = Math.max(since, latest * 1_000 + 999);
            dropQueue();
        }
        while (!queue.isEmpty()) {
            Place next = queue.values().iterator().next();
            Place place = next.number() == head ? next : null;
            if (place != null && place.aliveUntil() >= now && !isGone(place)) {
                return place;
            }
            if (work.passed == most) {
                leaveUnsettled(micros);
                return null;
            }
            work.passed++;
            head++;
            if (place != null) {
                since = place.aliveUntil() < now ? Math.max(since, place.aliveUntil() * 1_000 + 999) : since;
                removeWaiter(place.attempt());
            }
        }
        return null;
    }

    private void leaveUnsettled(long micros) {
        unsettled = true;
        since = micros;
    }

    boolean isFreeFor(ClaimMode wanted) {
        return owner.isEmpty() && (wanted == ClaimMode.READ || readers.isEmpty());
    }

    long own(String attempt, ClaimMode wanted, long leaseMillis, int tokens, boolean byGrant, long micros) {
        if (queue.containsKey(attempt)) {
            removeWaiter(attempt);
        }
        mode = wanted;
        since = micros;
        long end = micros / 1_000 + leaseMillis;
        if (wanted == ClaimMode.READ) {
            token = token == 0 ? micros : token;
            readers.remove(attempt);
            readers.put(attempt, new Reader(end, byGrant ? ReaderState.GRANTED : ReaderState.HELD));
            return token;
        }
        first = Math.max(token + 1, micros);
        token = first + tokens - 1;
        owner = attempt;
        started = micros;
        ends = end;
        granted = byGrant;
        kept = false;
        return first;
    }

    /** Grants the lock to waiters who can have it; returns the first that is left where the lock has no owner. */
    @Nullable
    Place serve(@Nullable String stopAt, long micros) {
        long now = micros / 1_000;
        while (owner.isEmpty()) {
            Place next = firstLive(micros);
            if (next == null || next.attempt().equals(stopAt) || !isFreeFor(next.mode())) {
                return next;
            }
            if (work.served == most) {
                outbox.send(next.attempt(), listener -> listener.freeIn(next.attempt(), 0));
                if (readers.isEmpty()) {
                    leaveUnsettled(micros);
                }
                return next;
            }
            work.served++;
            long firstToken = own(next.attempt(), next.mode(), next.grantMillis(), next.tokens(), true, micros);
            Grant grant = new Grant(next.attempt(), name, firstToken, now + next.grantMillis());
            outbox.send(next.attempt(), listener -> listener.granted(grant));
        }
        return null;
    }

    boolean isHolder(String attempt, long now) {
        if (owner.equals(attempt)) {
            return !kept && ends > now;
        }
        Reader reader = readers.get(attempt);
        return reader != null && reader.state() != ReaderState.KEPT && reader.until() > now;
    }

    boolean hasEnded(String attempt) {
        Reader reader = readers.get(attempt);
        return previous.equals(attempt) || (reader != null && reader.state() == ReaderState.KEPT);
    }

    void prolong(String attempt, long end, long micros) {
        if (owner.equals(attempt)) {
            started = micros;
            ends = end;
            granted = false;
        } else if (readers.containsKey(attempt)) {
            readers.put(attempt, new Reader(end, ReaderState.HELD));
        }
    }

    long endOf(String attempt) {
        Reader reader = readers.get(attempt);
        return reader == null ? ends : reader.until();
    }

    long firstToken(String attempt) {
        return owner.equals(attempt) ? first : token;
    }

    /**
     * Takes back those of the owner's tokens that it did not use; nothing where the last one used is not of this hold.
     */
    void takeBack(long lastToken) {
        if (lastToken >= first - 1 && lastToken < token) {
            token = lastToken;
        }
    }

    /** Makes the owner's token at least a given one. */
    void raise(long leastToken) {
        if (leastToken > token) {
            token = leastToken;
            first = leastToken;
        }
    }

    void endHold(String attempt, long keepMillis, long micros) {
        long end = micros / 1_000 + keepMillis;
        previous = attempt;
        previousRevoked = false;
        since = micros;
        if (owner.equals(attempt) && keepMillis > 0) {
            granted = false;
            kept = true;
            started = micros;
            ends = end;
        } else if (owner.equals(attempt)) {
            disown();
        } else if (keepMillis > 0) {
            readers.computeIfPresent(attempt, (id, held) -> new Reader(end, ReaderState.KEPT));
        } else {
            readers.remove(attempt);
        }
    }

    void tellEnd(@Nullable Place waiter, long now) {
        long remaining = holdEnd() - now;
        if (waiter != null && remaining > 0) {
            outbox.send(waiter.attempt(), listener -> listener.freeIn(waiter.attempt(), remaining));
        }
    }

    /** Ends all holds by force. */
    void revoke(long micros) {
        List<String> holders = holders();
        for (String holder : holders) {
            outbox.send(holder, listener -> listener.revoked(holder));
            previous = holder;
            previousRevoked = true;
            since = micros;
        }
        disown();
        readers.clear();
        token = token == 0 ? micros : token;
        serve(null, micros);
    }

    private List<String> holders() {
        return owner.isEmpty() ? List.copyOf(readers.keySet()) : List.of(owner);
    }

    /** Returns what is to be seen of the lock. Changes nothing. */
    Optional<StoredLock> inspect(long now) {
        MemoryRecord seen = copy();
        seen.endLapsedHolds(now);
        return seen.describe(now);
    }

    private MemoryRecord copy() {
        MemoryRecord copy = new MemoryRecord(name, token, outbox);
        copy.mode = mode;
        copy.owner = owner;
        copy.ends = ends;
        copy.granted = granted;
        copy.readers.putAll(readers);
        copy.queue.putAll(queue);
        copy.gone.putAll(gone);
        copy.tail = tail;
        return copy;
    }

    private Optional<StoredLock> describe(long now) {
        List<String> waiters = queue.values().stream()
                .filter(place -> place.aliveUntil() >= now && !isGone(place))
                .map(Place::attempt)
                .toList();
        return holder().isEmpty() && waiters.isEmpty()
                ? Optional.empty()
                : Optional.of(new StoredLock(
                        name, mode, holders(), token, Math.max(0, holdEnd() - now), waiters, waiters.size()));
    }

    /** Returns whether nothing is lost if this record is dropped, but for its last token. */
    boolean isEmpty() {
        return owner.isEmpty() && readers.isEmpty() && queue.isEmpty();
    }
}
