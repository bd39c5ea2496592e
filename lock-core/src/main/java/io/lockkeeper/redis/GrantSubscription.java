/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.Message;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.Subscription;
import org.springframework.data.redis.connection.SubscriptionListener;

/**
 * The one subscription of an instance, on a connection and a thread of its own, made anew whenever it ends. Messages are
 * handled where they are read: a hop to another thread would double the time of a hand-over.
 *
 * <p>Not the listener container of spring-data-redis: that gives up for good at an answer such as LOADING or NOPERM, and
 * keeps the connection.
 */
final class GrantSubscription {

    private static final Logger log = LoggerFactory.getLogger(GrantSubscription.class);
    private static final byte[] NOTHING = {};
    private static final long MIN_PAUSE_MILLIS = 100;
    private static final long MAX_PAUSE_MILLIS = 5_000;
    private static final long LOOK_MILLIS = 500;
    private static final int UNSUBSCRIBE_ATTEMPTS = 100;

    private final RedisConnectionFactory connections;
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile @Nullable RedisConnection current;
    private volatile @Nullable Instant since;
    private volatile boolean reported;
    private @Nullable Thread thread;

    GrantSubscription(RedisConnectionFactory connections) {
        this.connections = connections;
    }

    /** Begins to subscribe in the background. */
    synchronized void start(byte[] channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        Listener listener = new Listener(onMessage, () -> {
            since = Instant.now();
            if (reported) {
                reported = false;
                log.info("The subscription for grants works again");
            }
            onSubscribed.run();
        });
        Thread subscriber =
                DaemonThreads.factory("lockkeeper-subscription").newThread(() -> keepSubscribed(channel, listener));
        thread = subscriber;
        subscriber.start();
    }

    private void keepSubscribed(byte[] channel, Listener listener) {
        long pause = MIN_PAUSE_MILLIS;
        while (!isClosed(0)) {
            try {
                subscribe(channel, listener);
                pause = MIN_PAUSE_MILLIS;
            } catch (Throwable failure) {
                // An error, too: without a subscription no grant comes any more.
                if (!reported && !isClosed(0)) {
                    reported = true;
                    log.warn(
                            "The subscription for grants failed and is tried again; until it works, waiting callers"
                                    + " notice a free lock only when they poll: {}{}",
                            Failures.rootMessage(failure),
                            Failures.says(failure, "NOPERM")
                                    ? ". Give its user all rights that are needed: "
                                            + RedisNames.ofChannel(channel).rights()
                                    : "");
                    log.debug("The subscription for grants failed", failure);
                }
                pause = Math.min(MAX_PAUSE_MILLIS, 2 * pause);
            }
            if (isClosed(pause)) {
                return;
            }
        }
    }

    private void subscribe(byte[] channel, Listener listener) {
        requirePermission(channel);
        try (RedisConnection connection = connections.getConnection()) {
            current = connection;
            // Jedis returns when the subscription has ended, Lettuce when it has begun.
            connection.subscribe(listener, channel);
            // Lettuce restores a lost connection by itself: there is nothing to do but to look.
            boolean alive = connection.isSubscribed();
            while (alive) {
                alive = !isClosed(LOOK_MILLIS) && connection.isSubscribed();
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

    /**
     * Asks for the channel in a way that may be refused: a refused SUBSCRIBE makes Jedis send an UNSUBSCRIBE over a
     * connection that is in its pool again, whose next user would read the answer to it.
     */
    private void requirePermission(byte[] channel) {
        try (RedisConnection connection = connections.getConnection()) {
            connection.publish(channel, NOTHING);
        }
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
        Thread subscriber;
        synchronized (this) {
            subscriber = thread;
        }
        if (subscriber == null) {
            return;
        }
        Thread stopping =
                DaemonThreads.factory("lockkeeper-unsubscribe").newThread(() -> unsubscribeUntilEnded(subscriber));
        stopping.start();
        try {
            subscriber.join(patience.toMillis());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
        subscriber.interrupt();
    }

    /** The subscription may only be beginning: it is ended as soon as it is there. */
    private void unsubscribeUntilEnded(Thread subscriber) {
        try {
            for (int i = 0; i < UNSUBSCRIBE_ATTEMPTS && subscriber.isAlive(); i++) {
                unsubscribe();
                subscriber.join(MIN_PAUSE_MILLIS);
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

    private record Listener(Consumer<byte[]> onMessage, Runnable onSubscribed)
            implements MessageListener, SubscriptionListener {

        @Override
        public void onMessage(Message message, byte @Nullable [] pattern) {
            try {
                onMessage.accept(message.getBody());
            } catch (Throwable failure) {
                log.warn("A message on the grant channel was not understood", failure);
            }
        }

        @Override
        public void onChannelSubscribed(byte[] channel, long count) {
            onSubscribed.run();
        }
    }
}
