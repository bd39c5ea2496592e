/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.time.Duration;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link FaultProxy} does to matching requests, for the next N of them or until {@link #clear() cleared}.
 *
 * <p>A request <em>hits</em> the fault when it arrives; it is <em>completed</em> when Redis has run it and the reply
 * has come to the proxy, whoever got it (the copy's reply for a duplicate). A swallowed request is completed at once.
 */
public final class Fault {

    enum Kind {
        CUT_REPLY,
        DELAY_REQUEST,
        DELAY_REPLY,
        SWALLOW,
        DUPLICATE,
        HOLD
    }

    /** One request that a fault has taken; {@code seen} deliveries came before it. */
    record Hit(Fault fault, int seen) {

        /** Waits while the request is held. False: the proxy was closed instead. */
        boolean awaitDelivery() throws InterruptedException {
            return fault.awaitDeliveryAfter(seen);
        }
    }

    private final Predicate<RedisRequest> matches;
    private final Kind kind;
    private final Duration delay;
    private int remaining;
    private int hits;
    private int completed;
    private int deliveries;
    private boolean abandoned;

    Fault(Predicate<RedisRequest> matches, int times, Kind kind, Duration delay) {
        this.matches = matches;
        this.remaining = times;
        this.kind = kind;
        this.delay = delay;
    }

    /** How many requests this fault has taken. */
    public synchronized int hits() {
        return hits;
    }

    /** How many of the hit requests are over. */
    public synchronized int completed() {
        return completed;
    }

    /**
     * Waits until at least {@code count} requests have hit.
     *
     * @throws AssertionError if the time is over first
     */
    public void awaitHits(int count, Duration timeout) {
        await("hits", () -> hits, count, timeout);
    }

    /**
     * Waits until at least {@code count} requests are completed.
     *
     * @throws AssertionError if the time is over first
     */
    public void awaitCompleted(int count, Duration timeout) {
        await("completed", () -> completed, count, timeout);
    }

    /** Sends on the requests held now, in the order of each connection, whether or not their clients still wait. */
    public synchronized void deliver() {
        deliveries++;
        notifyAll();
    }

    /** Lets further requests pass. Requests held already stay held. */
    public synchronized void clear() {
        remaining = 0;
    }

    Kind kind() {
        return kind;
    }

    Duration delay() {
        return delay;
    }

    /** Null: the request is none of this fault's business. */
    synchronized @Nullable Hit take(RedisRequest request) {
        if (remaining == 0 || !matches.test(request)) {
            return null;
        }
        remaining--;
        hits++;
        notifyAll();
        return new Hit(this, deliveries);
    }

    synchronized void complete() {
        completed++;
        notifyAll();
    }

    synchronized void abandon() {
        abandoned = true;
        notifyAll();
    }

    private synchronized boolean awaitDeliveryAfter(int seen) throws InterruptedException {
        while (deliveries == seen && !abandoned) {
            wait();
        }
        return !abandoned;
    }

    private synchronized void await(String what, IntSupplier actual, int count, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        try {
            while (actual.getAsInt() < count) {
                long millis = Duration.ofNanos(deadline - System.nanoTime()).toMillis() + 1;
                if (deadline - System.nanoTime() <= 0) {
                    throw new AssertionError(
                            "%s: %d of %d %s within %s".formatted(kind, actual.getAsInt(), count, what, timeout));
                }
                wait(millis);
            }
        } catch (InterruptedException e) {
            throw ChildProcess.interrupted(e);
        }
    }
}
