/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryLockStore.Heap;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredLock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Who holds one lock and who waits for it, as its heap guards it. Times are ms, tokens at least the clock in us. */
final class MemoryLock {

    /** So many waiters the store in Redis shows too. */
    private static final int MOST_SHOWN = 100;

    final String name;
    private final Heap heap;
    /** By attempt; several where all of them read. */
    private final Map<String, Hold> holds = new LinkedHashMap<>();

    private final Map<String, Place> queue = new LinkedHashMap<>();
    private ClaimMode mode = ClaimMode.EXCLUSIVE;
    private long first;
    long token;
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

    /** Creates a free lock whose tokens are above a given one. */
    MemoryLock(String name, long token, Heap heap) {
        this.name = name;
        this.token = token;
        this.heap = heap;
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

    /** Returns how long the lock is held without a renewal. */
    long remaining() {
        return Math.max(0, end() - heap.now());
    }

    private long end() {
        return holds.values().stream().mapToLong(Hold::end).max().orElse(0);
    }

    /** Ends what has lapsed. A client that has not confirmed a grant is gone, with all its waiters. */
    void expire() {
        holds.entrySet().removeIf(hold -> {
            boolean lapsed = hold.getValue().end() <= heap.now();
            if (lapsed && hold.getValue().state() == State.GRANTED) {
                String client = Heap.clientOf(hold.getKey());
                queue.keySet().removeIf(attempt -> attempt.startsWith(client));
            }
            return lapsed;
        });
        queue.values().removeIf(place -> place.aliveUntil() < heap.now());
    }

    /** Grants the lock to the waiters who can have it, those before a given attempt. */
    void serve(@Nullable String stopAt) {
        Place next = head();
        while (next != null
                && !next.claim().attempt().equals(stopAt)
                && isFreeFor(next.claim().mode())) {
            AcquireCommand claim = next.claim();
            long end = heap.now() + next.grantMillis();
            Grant grant = new Grant(claim.attempt(), name, take(claim, State.GRANTED, end), end);
            heap.send(claim.attempt(), listener -> listener.granted(grant));
            next = head();
        }
    }

    private @Nullable Place head() {
        return queue.values().stream().findFirst().orElse(null);
    }

    private boolean isFreeFor(ClaimMode wanted) {
        return holds.isEmpty() || (mode == ClaimMode.READ && wanted == ClaimMode.READ);
    }

    /** Returns whether an attempt has the lock, or can have it now, before all who wait or as the first of them. */
    boolean canHave(AcquireCommand claim, boolean ahead) {
        Place next = head();
        boolean isNext = ahead || next == null || next.claim().attempt().equals(claim.attempt());
        return isHolder(claim.attempt()) || (isNext && isFreeFor(claim.mode()));
    }

    /** Makes an attempt a holder until a given time, or gives its hold a new end, and returns the first of its tokens. */
    long hold(AcquireCommand claim, long end, boolean exact) {
        if (isHolder(claim.attempt())) {
            prolong(claim.attempt(), end, exact);
            return firstToken();
        }
        long taken = take(claim, State.HELD, end);
        serve(null);
        return taken;
    }

    private long take(AcquireCommand claim, State state, long end) {
        queue.remove(claim.attempt());
        holds.put(claim.attempt(), new Hold(state, end));
        mode = claim.mode();
        if (mode != ClaimMode.READ) {
            first = Math.max(token + 1, heap.micros);
            token = first + claim.tokens() - 1;
        } else if (token == 0) {
            token = heap.micros;
        }
        return firstToken();
    }

    /** Returns the first token of the owner; a reader has that of the last writer. */
    private long firstToken() {
        return mode == ClaimMode.READ ? token : first;
    }

    private void prolong(String attempt, long end, boolean exact) {
        holds.computeIfPresent(attempt, (key, hold) -> new Hold(State.HELD, exact ? end : Math.max(end, hold.end())));
    }

    boolean renew(RenewCommand command) {
        if (!isHolder(command.attempt())) {
            return false;
        }
        prolong(command.attempt(), heap.now() + command.leaseMillis(), command.exact());
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
            heap.send(awaited, listener -> listener.awaited(awaited));
        }
        queue.put(claim.attempt(), new Place(claim, aliveUntil, grantMillis));
    }

    /** Ends a hold, at once or when a minimum time is over. The owner's tokens that were not used are free again. */
    void end(String attempt, long lastToken, long keepMillis) {
        previous = attempt;
        previousRevoked = false;
        if (mode != ClaimMode.READ && lastToken >= first - 1 && lastToken < token) {
            token = lastToken;
        }
        if (keepMillis > 0) {
            holds.put(attempt, new Hold(State.KEPT, heap.now() + keepMillis));
        } else {
            holds.remove(attempt);
        }
    }

    /** Ends what an attempt has of a lock that it could not take together with others: it has not ended itself. */
    void letGo(String attempt) {
        queue.remove(attempt);
        if (isHolder(attempt)) {
            holds.remove(attempt);
        }
        serve(null);
    }

    ReleaseReply release(String attempt, long lastToken, long keepMillis) {
        long before = end();
        ReleaseReply reply = ReleaseReply.NOT_HELD;
        if (isHolder(attempt)) {
            end(attempt, lastToken, keepMillis);
            reply = ReleaseReply.RELEASED;
        } else if (queue.remove(attempt) != null) {
            reply = ReleaseReply.LEFT_QUEUE;
        } else if (hasEnded(attempt) && !(previousRevoked && previous.equals(attempt))) {
            reply = ReleaseReply.ALREADY_RELEASED;
        }
        serve(null);
        Place next = head();
        long left = remaining();
        if (next != null && left > 0 && (end() < before || reply == ReleaseReply.LEFT_QUEUE)) {
            String waiter = next.claim().attempt();
            heap.send(waiter, listener -> listener.freeIn(waiter, left));
        }
        return reply;
    }

    boolean revoke() {
        List<String> holders = List.copyOf(holds.keySet());
        for (String attempt : holders) {
            heap.send(attempt, listener -> listener.revoked(attempt));
            previous = attempt;
            previousRevoked = true;
        }
        holds.clear();
        serve(null);
        return !holders.isEmpty();
    }

    /** Returns what is to be seen of the lock. */
    Optional<StoredLock> describe() {
        List<String> waiters = queue.keySet().stream().limit(MOST_SHOWN).toList();
        List<String> holders = List.copyOf(holds.keySet());
        return isUnused()
                ? Optional.empty()
                : Optional.of(new StoredLock(name, mode, holders, token, remaining(), waiters, queue.size()));
    }
}
