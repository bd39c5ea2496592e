/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoredLock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Who holds one lock and who waits for it. Not safe for several threads. Times are ms, tokens at least the clock in us. */
final class MemoryLock {

    /** So many waiters the store in Redis shows too. */
    private static final int MOST_SHOWN = 100;

    private static final int CLIENT_ID_LENGTH = 12;

    final String name;
    private final BiConsumer<String, Consumer<StoreListener>> outbox;
    /** By attempt; several where all of them read. */
    private final Map<String, Hold> holds = new LinkedHashMap<>();

    private final Map<String, Place> queue = new LinkedHashMap<>();
    private ClaimMode mode = ClaimMode.EXCLUSIVE;
    private long first;
    private long token;
    /** The attempt that released the lock last, or lost it by force. */
    private String previous = "";

    private boolean previousRevoked;

    private enum State {
        /** Not confirmed yet. */
        GRANTED,
        HELD,
        /** Released, and kept taken for a minimum time. */
        KEPT
    }

    private record Hold(State state, long end) {}

    private record Place(AcquireCommand claim, long aliveUntil, long grantMillis) {}

    /** Creates a free lock whose tokens are above a given one, and that sends messages to the clients of attempts. */
    MemoryLock(String name, long token, BiConsumer<String, Consumer<StoreListener>> outbox) {
        this.name = name;
        this.token = token;
        this.outbox = outbox;
    }

    long token() {
        return token;
    }

    boolean isUnused() {
        return holds.isEmpty() && queue.isEmpty();
    }

    boolean isHolder(String attempt) {
        Hold hold = holds.get(attempt);
        return hold != null && hold.state() != State.KEPT;
    }

    boolean isQueued(String attempt) {
        return queue.containsKey(attempt);
    }

    boolean hasEnded(String attempt) {
        return previous.equals(attempt) || (holds.containsKey(attempt) && !isHolder(attempt));
    }

    /** Returns the first holder; empty: there is none. */
    String holder() {
        return holds.keySet().stream().findFirst().orElse("");
    }

    /** Returns when the lock is free without a renewal. */
    long end() {
        return holds.values().stream().mapToLong(Hold::end).max().orElse(0);
    }

    /** Ends what has lapsed. A client that has not confirmed a grant is gone, with all its waiters. */
    void expire(long now) {
        for (Map.Entry<String, Hold> hold : List.copyOf(holds.entrySet())) {
            if (hold.getValue().end() <= now) {
                holds.remove(hold.getKey());
                if (hold.getValue().state() == State.GRANTED) {
                    String client = hold.getKey().substring(0, CLIENT_ID_LENGTH);
                    queue.keySet().removeIf(attempt -> attempt.startsWith(client));
                }
            }
        }
        queue.values().removeIf(place -> place.aliveUntil() < now);
    }

    /** Grants the lock to the waiters who can have it, those before a given attempt. */
    void serve(@Nullable String stopAt, long micros) {
        Place next = head();
        while (next != null
                && !next.claim().attempt().equals(stopAt)
                && isFreeFor(next.claim().mode())) {
            AcquireCommand claim = next.claim();
            long end = micros / 1_000 + next.grantMillis();
            Grant grant = new Grant(claim.attempt(), name, take(claim, true, end, micros), end);
            outbox.accept(claim.attempt(), listener -> listener.granted(grant));
            next = head();
        }
    }

    private @Nullable Place head() {
        return queue.values().stream().findFirst().orElse(null);
    }

    private boolean isFreeFor(ClaimMode wanted) {
        return holds.isEmpty() || (mode == ClaimMode.READ && wanted == ClaimMode.READ);
    }

    /** Returns whether an attempt can have the lock now, before all who wait or as the first of them. */
    boolean canHave(AcquireCommand claim, boolean ahead) {
        Place next = head();
        boolean isNext = ahead || next == null || next.claim().attempt().equals(claim.attempt());
        return isNext && isFreeFor(claim.mode());
    }

    /** Makes an attempt a holder, and returns the first of its fencing tokens; a reader has that of the last writer. */
    long take(AcquireCommand claim, boolean granted, long end, long micros) {
        queue.remove(claim.attempt());
        holds.put(claim.attempt(), new Hold(granted ? State.GRANTED : State.HELD, end));
        mode = claim.mode();
        if (mode == ClaimMode.READ) {
            token = token == 0 ? micros : token;
            return token;
        }
        first = Math.max(token + 1, micros);
        token = first + claim.tokens() - 1;
        return first;
    }

    /** Gives a hold a new end, and returns the first of its tokens. */
    long prolong(String attempt, long end, boolean exact) {
        Hold hold = holds.get(attempt);
        long least = hold == null || exact ? 0 : hold.end();
        holds.put(attempt, new Hold(State.HELD, Math.max(end, least)));
        return mode == ClaimMode.READ ? token : first;
    }

    boolean renew(RenewCommand command, long now) {
        if (!isHolder(command.attempt())) {
            return false;
        }
        prolong(command.attempt(), now + command.leaseMillis(), command.exact());
        if (command.leastToken() > token) {
            token = command.leastToken();
            first = token;
        }
        return true;
    }

    /** Gives an attempt a place behind all others, or notes that it still waits. */
    void enqueue(AcquireCommand claim, long aliveUntil, long grantMillis) {
        Hold owner = holds.get(holder());
        boolean believed = owner != null && owner.state() != State.GRANTED && mode != ClaimMode.READ;
        if (queue.isEmpty() && believed && token - first + 1 >= AcquireCommand.MOST_TOKENS) {
            String awaited = holder();
            outbox.accept(awaited, listener -> listener.awaited(awaited));
        }
        queue.put(claim.attempt(), new Place(claim, aliveUntil, grantMillis));
    }

    /** Ends a hold, at once or when a minimum time is over. The owner's tokens that were not used are free again. */
    void end(String attempt, long lastToken, long keptUntil) {
        previous = attempt;
        previousRevoked = false;
        if (mode != ClaimMode.READ && lastToken >= first - 1 && lastToken < token) {
            token = lastToken;
        }
        if (keptUntil > 0) {
            holds.put(attempt, new Hold(State.KEPT, keptUntil));
        } else {
            holds.remove(attempt);
        }
    }

    /** Ends what an attempt has of a lock that it could not take together with others: it has not ended itself. */
    void letGo(String attempt, long micros) {
        queue.remove(attempt);
        if (isHolder(attempt)) {
            holds.remove(attempt);
        }
        serve(null, micros);
    }

    ReleaseReply release(String attempt, long lastToken, long keepMillis, long micros) {
        long now = micros / 1_000;
        long before = end();
        ReleaseReply reply = ReleaseReply.NOT_HELD;
        if (isHolder(attempt)) {
            end(attempt, lastToken, keepMillis > 0 ? now + keepMillis : 0);
            reply = ReleaseReply.RELEASED;
        } else if (queue.remove(attempt) != null) {
            reply = ReleaseReply.LEFT_QUEUE;
        } else if (hasEnded(attempt) && !(previousRevoked && previous.equals(attempt))) {
            reply = ReleaseReply.ALREADY_RELEASED;
        }
        serve(null, micros);
        Place next = head();
        long left = end() - now;
        if (next != null && left > 0 && (end() < before || reply == ReleaseReply.LEFT_QUEUE)) {
            String waiter = next.claim().attempt();
            outbox.accept(waiter, listener -> listener.freeIn(waiter, left));
        }
        return reply;
    }

    boolean revoke(long micros) {
        List<String> holders = List.copyOf(holds.keySet());
        for (String attempt : holders) {
            outbox.accept(attempt, listener -> listener.revoked(attempt));
            previous = attempt;
            previousRevoked = true;
        }
        holds.clear();
        serve(null, micros);
        return !holders.isEmpty();
    }

    /** Returns what is to be seen of the lock. */
    Optional<StoredLock> describe(long now) {
        return isUnused()
                ? Optional.empty()
                : Optional.of(new StoredLock(
                        name,
                        mode,
                        List.copyOf(holds.keySet()),
                        token,
                        Math.max(0, end() - now),
                        queue.keySet().stream().limit(MOST_SHOWN).toList(),
                        queue.size()));
    }
}
