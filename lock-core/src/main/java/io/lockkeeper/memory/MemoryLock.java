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

    private final String name;
    private final Heap heap;

    /** By attempt; several where all of them read. One that has ended keeps the lock taken for a minimum time. */
    private final Map<String, Share> holds = new LinkedHashMap<>();

    private final Map<String, Share> queue = new LinkedHashMap<>();
    private ClaimMode mode = ClaimMode.EXCLUSIVE;

    /** The first of the tokens of the holder; a reader has that of the last writer. */
    private long first;

    long token;

    /** The attempts that released the lock last, and lost it last by force. */
    private String released = "";

    private String revoked = "";

    /** A hold, or a place in the queue, that ends at a given time unless its attempt asks again before. */
    private record Share(AcquireCommand claim, long until, long grantMillis, boolean released) {}

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
        return holds.containsKey(attempt) && !hasEnded(attempt);
    }

    boolean isKnown(String attempt) {
        return isHolder(attempt) || queue.containsKey(attempt);
    }

    /** Returns whether an attempt held the lock until its end, of which there is no way back. */
    boolean hasEnded(String attempt) {
        return hasReleased(attempt) || revoked.equals(attempt);
    }

    private boolean hasReleased(String attempt) {
        Share kept = holds.get(attempt);
        return released.equals(attempt) || (kept != null && kept.released);
    }

    /** Returns the first holder; empty: there is none. */
    String holder() {
        return holds.keySet().stream().findFirst().orElse("");
    }

    /** Returns how long the lock is held without a renewal. */
    long remaining() {
        return holds.values().stream()
                .mapToLong(hold -> hold.until - heap.now())
                .max()
                .orElse(0);
    }

    /** Ends what has lapsed, and grants the lock to the waiters who can have it. */
    void serve() {
        holds.values().removeIf(hold -> hold.until <= heap.now());
        queue.values().removeIf(place -> place.until <= heap.now());
        while (!queue.isEmpty()) {
            Share next = queue.values().iterator().next();
            if (!isFreeFor(next.claim.mode())) {
                return;
            }
            String attempt = next.claim.attempt();
            long end = heap.now() + next.grantMillis;
            Grant grant = new Grant(attempt, name, hold(next.claim, end, true), end);
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
    long hold(AcquireCommand claim, long until, boolean exact) {
        Share before = holds.get(claim.attempt());
        if (before == null) {
            queue.remove(claim.attempt());
            mode = claim.mode();
            first = mode == ClaimMode.READ ? token : Math.max(token + 1, heap.micros);
            token = mode == ClaimMode.READ ? token : first + claim.tokens() - 1;
        }
        long end = before == null || exact ? until : Math.max(until, before.until);
        holds.put(claim.attempt(), new Share(claim, end, 0, false));
        return first;
    }

    boolean renew(RenewCommand command) {
        Share hold = holds.get(command.attempt());
        if (hold == null || hasEnded(command.attempt())) {
            return false;
        }
        hold(hold.claim, heap.now() + command.leaseMillis(), command.exact());
        if (command.leastToken() > token) {
            token = command.leastToken();
            first = token;
        }
        return true;
    }

    /** Gives an attempt a place behind all others, or notes that it still waits. */
    void enqueue(AcquireCommand claim, long until, long grantMillis) {
        if (queue.isEmpty() && token - first + 1 >= AcquireCommand.MOST_TOKENS) {
            String owner = holder();
            heap.send(owner, listener -> listener.awaited(owner));
        }
        queue.put(claim.attempt(), new Share(claim, until, grantMillis, false));
    }

    /** Ends a hold, at once or when a minimum time is over. The owner's tokens that were not used are free again. */
    void end(String attempt, long lastToken, long keepMillis) {
        released = attempt;
        if (mode != ClaimMode.READ && lastToken >= first - 1 && lastToken < token) {
            token = lastToken;
        }
        holds.computeIfPresent(
                attempt,
                (key, hold) -> keepMillis > 0 ? new Share(hold.claim, heap.now() + keepMillis, 0, true) : null);
    }

    /** Ends what an attempt has of a lock that it could not take together with others: it has not ended itself. */
    void letGo(String attempt) {
        queue.remove(attempt);
        holds.remove(attempt);
    }

    ReleaseReply release(String attempt, long lastToken, long keepMillis) {
        ReleaseReply reply = hasReleased(attempt) ? ReleaseReply.ALREADY_RELEASED : ReleaseReply.NOT_HELD;
        if (isHolder(attempt)) {
            end(attempt, lastToken, keepMillis);
            reply = ReleaseReply.RELEASED;
        } else if (queue.remove(attempt) != null) {
            reply = ReleaseReply.LEFT_QUEUE;
        }
        serve();
        // The next one may have been told a later end, or nothing where it was not the first.
        long left = remaining();
        if (left > 0 && !queue.isEmpty()) {
            String next = queue.keySet().iterator().next();
            heap.send(next, listener -> listener.freeIn(next, left));
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
        StoredLock seen =
                new StoredLock(name, mode, List.copyOf(holds.keySet()), token, remaining(), waiters, queue.size());
        return isUnused() ? Optional.empty() : Optional.of(seen);
    }
}
