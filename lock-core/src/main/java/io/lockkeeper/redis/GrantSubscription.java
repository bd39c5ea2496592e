package io.lockkeeper.redis;

import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.data.redis.connection.Message;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.SubscriptionListener;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.util.backoff.FixedBackOff;

/** The one subscription of an instance, restored by itself when its connection is lost. */
final class GrantSubscription {

    private static final Logger log = LoggerFactory.getLogger(GrantSubscription.class);
    private static final long RESTORE_MILLIS = 250;

    private final RedisConnectionFactory connections;
    private final ScheduledExecutorService timer;
    private @Nullable RedisMessageListenerContainer container;
    private boolean closed;
    private boolean warned;

    GrantSubscription(RedisConnectionFactory connections, ScheduledExecutorService timer) {
        this.connections = connections;
        this.timer = timer;
    }

    /** Begins to subscribe in the background, until it works. */
    void start(String channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        new Thread(() -> subscribe(channel, onMessage, onSubscribed), "lockkeeper-subscribe").start();
    }

    private void subscribe(String channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        RedisMessageListenerContainer fresh = new RedisMessageListenerContainer();
        fresh.setConnectionFactory(connections);
        SimpleAsyncTaskExecutor subscriber = new SimpleAsyncTaskExecutor("lockkeeper-subscription-");
        subscriber.setDaemon(true);
        fresh.setSubscriptionExecutor(subscriber);
        // Messages are handled where they are read: a hop to another thread would double the time of a hand-over.
        fresh.setTaskExecutor(Runnable::run);
        fresh.setRecoveryBackoff(new FixedBackOff(RESTORE_MILLIS, FixedBackOff.UNLIMITED_ATTEMPTS));
        fresh.setErrorHandler(failure -> log.warn("A grant was not understood", failure));
        fresh.afterPropertiesSet();
        fresh.addMessageListener(new Listener(onMessage, onSubscribed), new ChannelTopic(channel));
        synchronized (this) {
            if (closed) {
                return;
            }
            container = fresh;
        }
        try {
            fresh.start();
        } catch (RuntimeException failure) {
            warnOnce(failure);
            stop(fresh);
            timer.schedule(() -> start(channel, onMessage, onSubscribed), 2 * RESTORE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void warnOnce(RuntimeException failure) {
        if (warned) {
            log.debug("The subscription for grants failed again", failure);
        } else {
            warned = true;
            log.warn(
                    "The subscription for grants failed: until it works, waiting callers notice a free lock only when"
                            + " they poll. Redis must permit this user to subscribe to the channels of the key prefix.",
                    failure);
        }
    }

    void close() {
        RedisMessageListenerContainer last;
        synchronized (this) {
            closed = true;
            last = container;
        }
        if (last != null) {
            stop(last);
        }
    }

    private static void stop(RedisMessageListenerContainer container) {
        try {
            container.destroy();
        } catch (Exception failure) {
            log.debug("The subscription for grants did not end in order", failure);
        }
    }

    private record Listener(Consumer<byte[]> onMessage, Runnable onSubscribed)
            implements MessageListener, SubscriptionListener {

        @Override
        public void onMessage(Message message, byte @Nullable [] pattern) {
            onMessage.accept(message.getBody());
        }

        @Override
        public void onChannelSubscribed(byte[] channel, long count) {
            onSubscribed.run();
        }
    }
}
