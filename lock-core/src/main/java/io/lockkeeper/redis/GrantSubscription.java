/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreListener;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.data.redis.connection.Message;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.Subscription;
import org.springframework.data.redis.connection.SubscriptionListener;

/**
 * The one subscription of an instance, on a connection and a thread of its own, made anew whenever it ends. Messages
 * are handled where they are read: a hop to another thread would double the time of a hand-over.
 *
 * <p>Not the listener container of spring-data-redis: that gives up for good at an answer such as LOADING or NOPERM,
 * and keeps the connection.
 */
final class GrantSubscription implements MessageListener, SubscriptionListener {

    private static final Logger log = LoggerFactory.getLogger(GrantSubscription.class);
    private static final long MIN_PAUSE_MILLIS = 100;
    private static final long MAX_PAUSE_MILLIS = 5_000;
    private static final long LOOK_MILLIS = 500;

    /** What an instance sends to its own channel now and then: the connection is not idle, and a dead one noticed. */
    static final byte[] SIGN = {};

    private static final int UNSUBSCRIBE_ATTEMPTS = 100;

    private final Clients clients;
    private final RedisNames names;
    private final byte[] channel;
    private final StoreListener listener;
    private final LongSupplier earlierMillis;
    private final Duration longestSilence;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread =
            DaemonThreads.factory("lockkeeper-subscription").newThread(this::keepSubscribed);
    private volatile @Nullable RedisConnection current;
    private volatile @Nullable Instant since;
    private volatile long heardNanos;

    /** Before the next try; back to the shortest one as soon as one works. */
    private volatile long pauseMillis = MIN_PAUSE_MILLIS;

    private volatile boolean reported;

    /** Creates it, not connected yet; a grant may end sooner than Redis says. A silent connection is made anew. */
    GrantSubscription(
            Clients clients,
            RedisNames names,
            String clientId,
            StoreListener listener,
            LongSupplier earlierMillis,
            Duration longestSilence) {
        this.clients = clients;
        this.earlierMillis = earlierMillis;
        this.longestSilence = longestSilence;
        this.names = names;
        this.channel = names.channel(clientId);
        this.listener = listener;
    }

    void start() {
        thread.start();
    }

    private void keepSubscribed() {
        while (!isClosed(0)) {
            RedisConnectionFactory connections = clients.factory();
            try {
                // With the settings of now: a password may have changed.
                connections = clients.outsideOfThePool(longestSilence);
                subscribe(connections);
            } catch (Throwable failure) {
                // An error, too: without a subscription no grant comes any more.
                report(failure);
                pauseMillis = Math.min(MAX_PAUSE_MILLIS, 2 * pauseMillis);
            } finally {
                end(connections);
            }
            isClosed(pauseMillis);
        }
    }

    private void report(Throwable failure) {
        if (!reported && !isClosed(0)) {
            reported = true;
            log.warn(
                    "The subscription for grants failed and is tried again; until it works, waiting callers"
                            + " notice a free lock only when they poll: {}{}",
                    Failures.rootMessage(failure),
                    Failures.says(failure, "NOPERM")
                            ? ". Give its user all rights that are needed: " + names.rights()
                            : "");
            log.debug("The subscription for grants failed", failure);
        }
    }

    private void end(RedisConnectionFactory connections) {
        if (connections instanceof DisposableBean own && connections != clients.factory()) {
            try {
                own.destroy();
            } catch (Exception failure) {
                log.debug("The connections for grants did not end in order", failure);
            }
        }
    }

    private void subscribe(RedisConnectionFactory factory) {
        // In a way that may be refused: after a refused SUBSCRIBE Jedis sends an UNSUBSCRIBE over a connection that is
        // in its pool again, whose next user would read the answer to it.
        try (RedisConnection connection = factory.getConnection()) {
            connection.publish(channel, SIGN);
        }
        try (RedisConnection connection = factory.getConnection()) {
            current = connection;
            heardNanos = System.nanoTime();
            // Jedis returns when the subscription has ended, Lettuce when it has begun.
            connection.subscribe(this, channel);
            // Lettuce restores a lost connection by itself: there is nothing to do but to look.
            boolean alive = connection.isSubscribed();
            while (alive) {
                alive = !isClosed(LOOK_MILLIS)
                        && connection.isSubscribed()
                        && System.nanoTime() - heardNanos < longestSilence.toNanos();
            }
        } finally {
            current = null;
            since = null;
        }
    }

    /** Returns since when the subscription works; null while it does not. */
    @Nullable
    Instant since() {
        return since;
    }

    private boolean isClosed(long waitMillis) {
        try {
            return closed.await(waitMillis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupt) {
            // Only this class knows the thread, and interrupts it to end it.
            return true;
        }
    }

    /** Ends the subscription, but waits no longer than a given time for a server that does not answer. */
    void close(Duration patience) {
        closed.countDown();
        DaemonThreads.factory("lockkeeper-unsubscribe")
                .newThread(this::unsubscribeUntilEnded)
                .start();
        try {
            thread.join(patience.toMillis());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        thread.interrupt();
    }

    /** The subscription may only be beginning: it is ended as soon as it is there. */
    private void unsubscribeUntilEnded() {
        try {
            for (int i = 0; i < UNSUBSCRIBE_ATTEMPTS && thread.isAlive(); i++) {
                unsubscribe();
                thread.join(MIN_PAUSE_MILLIS);
            }
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    private void unsubscribe() {
        RedisConnection connection = current;
        try {
            Subscription subscription = connection == null ? null : connection.getSubscription();
            if (subscription != null) {
                subscription.unsubscribe();
            }
        } catch (RuntimeException failure) {
            log.debug("The subscription for grants did not end in order", failure);
        }
    }

    @Override
    public void onChannelSubscribed(byte[] subscribed, long count) {
        heardNanos = System.nanoTime();
        pauseMillis = MIN_PAUSE_MILLIS;
        since = Instant.now();
        if (reported) {
            reported = false;
            log.info("The subscription for grants works again");
        }
        listener.channelRestored();
    }

    @Override
    public void onMessage(Message message, byte @Nullable [] pattern) {
        heardNanos = System.nanoTime();
        try {
            tell(new String(message.getBody(), StandardCharsets.UTF_8).split(" ", 5));
        } catch (Throwable failure) {
            log.warn("A message on the grant channel was not understood", failure);
        }
    }

    /**
     * Tells of {@code grant attempt token until key}, {@code revoke attempt key},
     * {@code free-at attempt milliseconds key} or {@code awaited attempt key}; not of a message that only a later
     * version knows.
     */
    private void tell(String[] parts) {
        if (parts.length == 5 && parts[0].equals("grant")) {
            long until = Long.parseLong(parts[3]) - earlierMillis.getAsLong();
            listener.granted(new Grant(parts[1], names.lockName(parts[4]), Long.parseLong(parts[2]), until));
        } else if (parts.length >= 3 && parts[0].equals("revoke")) {
            listener.revoked(parts[1]);
        } else if (parts.length >= 4 && parts[0].equals("free-at")) {
            listener.freeIn(parts[1], Long.parseLong(parts[2]));
        } else if (parts.length >= 3 && parts[0].equals("awaited")) {
            listener.awaited(parts[1]);
        }
    }
}
