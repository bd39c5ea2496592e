/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoredLock;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The record of one lock and its steps: what {@code record.lua} is for the Redis store, function by function. Not safe for
 * several threads. All times are those of the store's clock.
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
    final Map<String, Reader> readers = new LinkedHashMap<>();
    final Map<String, Place> queue = new LinkedHashMap<>();
    private final Outbox outbox;

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
     * @param attempt its id
     * @param mode how it wants to hold the lock
     * @param aliveUntil until when it is taken to be alive
     * @param grantMillis how long a grant lasts
     * @param tokens how many fencing tokens it needs
     */
    record Place(String attempt, ClaimMode mode, long aliveUntil, long grantMillis, int tokens) {}

    MemoryRecord(String name, long lastToken, Outbox outbox) {
        this.name = name;
        this.token = lastToken;
        this.outbox = outbox;
    }

    long holdEnd() {
        return !owner.isEmpty()
                ? ends
                : readers.values().stream().mapToLong(Reader::until).max().orElse(0);
    }

    String holder() {
        return owner.isEmpty() ? readers.keySet().stream().findFirst().orElse("") : owner;
    }

    boolean isQueued(String attempt) {
        return queue.containsKey(attempt);
    }

    boolean isFirst(String attempt) {
        return queue.keySet().stream().findFirst().filter(attempt::equals).isPresent();
    }

    void enqueue(Place place) {
        queue.put(place.attempt(), place);
    }

    /** Tells an owner whose client knew of nobody else that others wait. */
    void tellOwner() {
        String awaited = owner;
        if (queue.isEmpty() && !awaited.isEmpty() && !granted && token - first + 1 >= AcquireCommand.MOST_TOKENS) {
            outbox.send(awaited, listener -> listener.awaited(awaited));
        }
    }

    void leaveQueue(String attempt, long micros) {
        if (queue.remove(attempt) != null) {
            since = micros;
        }
    }

    void endLapsedHolds(long now) {
        Set<String> gone = new HashSet<>();
        if (!owner.isEmpty() && ends <= now) {
            if (granted) {
                gone.add(client(owner));
            }
            owner = "";
            granted = false;
            since = Math.max(since, ends * 1_000);
        }
        readers.entrySet().removeIf(entry -> {
            boolean lapsed = entry.getValue().until() <= now;
            if (lapsed && entry.getValue().state() == ReaderState.GRANTED) {
                gone.add(client(entry.getKey()));
            }
            since = lapsed ? Math.max(since, entry.getValue().until() * 1_000) : since;
            return lapsed;
        });
        if (!gone.isEmpty()) {
            queue.keySet().removeIf(attempt -> gone.contains(client(attempt)));
        }
    }

    private static String client(String attempt) {
        return attempt.substring(0, CLIENT_ID_LENGTH);
    }

    /** Returns the first waiter that is alive, after those before it were taken out. */
    @Nullable
    Place firstLive(long now) {
        for (Iterator<Place> places = queue.values().iterator(); places.hasNext(); ) {
            Place place = places.next();
            if (place.aliveUntil() >= now) {
                return place;
            }
            places.remove();
            since = Math.max(since, place.aliveUntil() * 1_000 + 999);
        }
        return null;
    }

    boolean isFreeFor(ClaimMode wanted) {
        return owner.isEmpty() && (wanted == ClaimMode.READ || readers.isEmpty());
    }

    long own(String attempt, ClaimMode wanted, long leaseMillis, int tokens, boolean byGrant, long micros) {
        queue.remove(attempt);
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
        ends = end;
        granted = byGrant;
        return first;
    }

    @Nullable
    Place serve(@Nullable String stopAt, long micros) {
        long now = micros / 1_000;
        Place head = firstLive(now);
        while (head != null && !head.attempt().equals(stopAt) && isFreeFor(head.mode())) {
            long firstToken = own(head.attempt(), head.mode(), head.grantMillis(), head.tokens(), true, micros);
            Grant grant = new Grant(head.attempt(), name, firstToken, now + head.grantMillis());
            outbox.send(head.attempt(), listener -> listener.granted(grant));
            head = firstLive(now);
        }
        return head;
    }

    boolean isHolder(String attempt, long now) {
        if (owner.equals(attempt)) {
            return !previous.equals(attempt) && ends > now;
        }
        Reader reader = readers.get(attempt);
        return reader != null && reader.state() != ReaderState.KEPT && reader.until() > now;
    }

    boolean hasEnded(String attempt) {
        Reader reader = readers.get(attempt);
        return previous.equals(attempt) || (reader != null && reader.state() == ReaderState.KEPT);
    }

    void prolong(String attempt, long end) {
        if (owner.equals(attempt)) {
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

    /** Takes back those of the owner's tokens that it did not use; nothing where the last one used is not of this hold. */
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
        since = micros;
        if (owner.equals(attempt)) {
            granted = false;
            ends = end;
            owner = keepMillis > 0 ? owner : "";
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
        }
        owner = "";
        granted = false;
        readers.clear();
        since = micros;
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
        return copy;
    }

    private Optional<StoredLock> describe(long now) {
        List<String> waiters = queue.values().stream()
                .filter(place -> place.aliveUntil() >= now)
                .map(Place::attempt)
                .toList();
        return holder().isEmpty() && waiters.isEmpty()
                ? Optional.empty()
                : Optional.of(new StoredLock(name, mode, holders(), token, Math.max(0, holdEnd() - now), waiters));
    }

    /** Returns whether nothing is lost if this record is dropped, but for its last token. */
    boolean isEmpty() {
        return owner.isEmpty() && readers.isEmpty() && queue.isEmpty();
    }
}
