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

/** Who holds one lock and who waits for it, as its heap guards it. Times are ms, tokens at least the clock in us. */
final class MemoryLock {

    /** So many waiters the store in Redis shows too. */
    private static final int MOST_SHOWN = 100;

    final String name;
    private final Heap heap;
    /** By attempt; several where all of them read. */
    private final Map<String, Hold> holds = new LinkedHashMap<>();

    final Map<String, Place> queue = new LinkedHashMap<>();
    private ClaimMode mode = ClaimMode.EXCLUSIVE;

    /** The first of the tokens of the holder; a reader has that of the last writer. */
    private long first;

    long token;
    /** The attempts that released the lock last, and lost it last by force. */
    private String released = "";

    private String revoked = "";

    private enum State {
        /** Not confirmed yet. */
        GRANTED,
        HELD,
        /** Released, and kept taken for a minimum time. */
        KEPT
    }

    private record Hold(State state, long end) {}

    record Place(AcquireCommand claim, long aliveUntil, long grantMillis) {}

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
        return hold != null && hold.state != State.KEPT;
    }

    boolean hasEnded(String attempt) {
        return released.equals(attempt)
                || revoked.equals(attempt)
                || (holds.containsKey(attempt) && !isHolder(attempt));
    }

    /** Returns the first holder; empty: there is none. */
    String holder() {
        return holds.keySet().stream().findFirst().orElse("");
    }

    /** Returns how long the lock is held without a renewal. */
    long remaining() {
        return holds.values().stream()
                .mapToLong(hold -> hold.end - heap.now())
                .max()
                .orElse(0);
    }

    /** Ends what has lapsed, and serves who waits. A client that has not confirmed a grant is gone with its waiters. */
    void expire() {
        holds.entrySet().removeIf(hold -> {
            boolean lapsed = hold.getValue().end <= heap.now();
            if (lapsed && hold.getValue().state == State.GRANTED) {
                String client = Heap.clientOf(hold.getKey());
                queue.keySet().removeIf(attempt -> attempt.startsWith(client));
            }
            return lapsed;
        });
        queue.values().removeIf(place -> place.aliveUntil < heap.now());
        serve();
    }

    /** Grants the lock to the waiters who can have it. */
    void serve() {
        while (!queue.isEmpty()) {
            Place next = queue.values().iterator().next();
            if (!isFreeFor(next.claim.mode())) {
                return;
            }
            String attempt = next.claim.attempt();
            long end = heap.now() + next.grantMillis;
            take(next.claim, State.GRANTED, end);
            Grant grant = new Grant(attempt, name, first, end);
            heap.send(attempt, listener -> listener.granted(grant));
        }
    }

    private boolean isFreeFor(ClaimMode wanted) {
        return holds.isEmpty() || (mode == ClaimMode.READ && wanted == ClaimMode.READ);
    }

    /** Returns whether an attempt has the lock, or can have it now, where none waits or it comes before all who do. */
    boolean canHave(AcquireCommand claim, boolean ahead) {
        return isHolder(claim.attempt()) || ((ahead || queue.isEmpty()) && isFreeFor(claim.mode()));
    }

    /** Makes an attempt a holder until a given time, or gives its hold a new end; returns the first of its tokens. */
    long hold(AcquireCommand claim, long end, boolean exact) {
        if (isHolder(claim.attempt())) {
            prolong(claim.attempt(), end, exact);
        } else {
            take(claim, State.HELD, end);
        }
        return first;
    }

    private void take(AcquireCommand claim, State state, long end) {
        queue.remove(claim.attempt());
        holds.put(claim.attempt(), new Hold(state, end));
        mode = claim.mode();
        if (mode == ClaimMode.READ) {
            token = token == 0 ? heap.micros : token;
            first = token;
        } else {
            first = Math.max(token + 1, heap.micros);
            token = first + claim.tokens() - 1;
        }
    }

    private void prolong(String attempt, long end, boolean exact) {
        holds.computeIfPresent(attempt, (key, hold) -> new Hold(State.HELD, exact ? end : Math.max(end, hold.end)));
    }

    boolean renew(RenewCommand command) {
        boolean held = isHolder(command.attempt());
        if (held) {
            prolong(command.attempt(), heap.now() + command.leaseMillis(), command.exact());
            if (command.leastToken() > token) {
                token = command.leastToken();
                first = token;
            }
        }
        return held;
    }

    /** Gives an attempt a place behind all others, or notes that it still waits. */
    void enqueue(AcquireCommand claim, long aliveUntil, long grantMillis) {
        if (queue.isEmpty() && token - first + 1 >= AcquireCommand.MOST_TOKENS) {
            String owner = holder();
            heap.send(owner, listener -> listener.awaited(owner));
        }
        queue.put(claim.attempt(), new Place(claim, aliveUntil, grantMillis));
    }

    /** Ends a hold, at once or when a minimum time is over. The owner's tokens that were not used are free again. */
    void end(String attempt, long lastToken, long keepMillis) {
        released = attempt;
        if (mode != ClaimMode.READ && lastToken >= first - 1 && lastToken < token) {
            token = lastToken;
        }
        holds.computeIfPresent(
                attempt, (key, hold) -> keepMillis > 0 ? new Hold(State.KEPT, heap.now() + keepMillis) : null);
    }

    /** Ends what an attempt has of a lock that it could not take together with others: it has not ended itself. */
    void letGo(String attempt) {
        queue.remove(attempt);
        holds.remove(attempt);
    }

    ReleaseReply release(String attempt, long lastToken, long keepMillis) {
        long before = remaining();
        ReleaseReply reply = ReleaseReply.NOT_HELD;
        if (isHolder(attempt)) {
            end(attempt, lastToken, keepMillis);
            reply = ReleaseReply.RELEASED;
        } else if (queue.remove(attempt) != null) {
            reply = ReleaseReply.LEFT_QUEUE;
        } else if (hasEnded(attempt) && !revoked.equals(attempt)) {
            reply = ReleaseReply.ALREADY_RELEASED;
        }
        serve();
        long left = remaining();
        if (left > 0 && (left < before || reply == ReleaseReply.LEFT_QUEUE)) {
            queue.keySet().stream()
                    .findFirst()
                    .ifPresent(next -> heap.send(next, listener -> listener.freeIn(next, left)));
        }
        return reply;
    }

    boolean revoke() {
        boolean held = !holds.isEmpty();
        for (String attempt : holds.keySet()) {
            heap.send(attempt, listener -> listener.revoked(attempt));
            revoked = attempt;
        }
        holds.clear();
        return held;
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
