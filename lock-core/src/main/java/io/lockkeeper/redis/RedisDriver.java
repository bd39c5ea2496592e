package io.lockkeeper.redis;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The seam to a Redis client: the few things that the store needs of one. Every future is completed within the command
 * timeout, with the reply or with a {@link io.lockkeeper.store.StoreException}.
 */
interface RedisDriver extends AutoCloseable {

    /**
     * Runs a script by its hash, and by its text where the server does not know it.
     *
     * @param script the script
     * @param keys its KEYS
     * @param arguments its ARGV
     * @return its reply: numbers as Long, texts as byte[]
     */
    CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments);

    /**
     * Makes scripts known to the server, so that the first run of each needs one request, and returns its clock in ms.
     * May take longer than the command timeout.
     */
    CompletableFuture<Long> prepare(List<LuaScript> scripts);

    /** Sets a key that expires. */
    CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive);

    /** Returns the values of keys that hold a string, in their order; null for those that do not exist. */
    CompletableFuture<List<byte @Nullable []>> get(List<byte[]> keys);

    /** Finds keys by a glob, on every master, with SCAN; in no order, each once. */
    CompletableFuture<List<byte[]>> scan(byte[] pattern, int limit);

    /** Returns the slot of a key: keys of one slot may go into one script. A server that is no cluster has one slot. */
    int slot(byte[] key);

    /** Deletes a key. */
    CompletableFuture<Void> delete(byte[] key);

    /**
     * Listens to a channel until the driver is closed, across lost connections.
     *
     * @param channel the channel
     * @param onMessage called with each message; must not block
     * @param onSubscribed called each time the subscription begins to work
     */
    void subscribe(byte[] channel, Consumer<byte[]> onMessage, Runnable onSubscribed);

    /** Returns since when the subscription works; null while it does not. */
    @Nullable
    Instant subscribedSince();

    /** Ends the subscription and refuses further commands. */
    @Override
    void close();
}
