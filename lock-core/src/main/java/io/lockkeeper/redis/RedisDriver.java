/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Properties;
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
     * @param keys its KEYS, one at least and all of one slot
     * @param arguments its ARGV
     * @return its reply: numbers as Long, texts as byte[]
     */
    CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments);

    /**
     * Makes scripts known to all servers, so that the first run of each needs one request, and returns the clock of one
     * that answers, in ms. May take longer than the command timeout.
     */
    CompletableFuture<Long> prepare(List<LuaScript> scripts);

    /** Returns the slot of a key: a script may name several keys if they have the same. On a single server all have. */
    int slot(byte[] key);

    /** Returns the name of the server that has a key, as far as that is known: servers have clocks of their own. */
    String serverOf(byte[] key);

    /**
     * Finds keys on all servers, masters of a cluster, without keeping any of them busy for long. Takes as many commands
     * as there are keys on a server by 500, and fails if one of them does.
     *
     * @param pattern what the keys look like, as SCAN takes it
     * @param limit how many keys are enough
     * @return different keys, in no order
     */
    CompletableFuture<List<byte[]>> scan(byte[] pattern, int limit);

    /**
     * Reads texts, wherever they are. Fails if one of the servers does.
     *
     * @param keys the keys
     * @return the value of each key in their order; null where there is none, or something else
     */
    CompletableFuture<List<byte @Nullable []>> get(List<byte[]> keys);

    /**
     * Asks servers about themselves (INFO): all masters of a cluster. Those that do not answer are left out.
     *
     * @return what each of them says, by its name; that of the only server is empty
     */
    CompletableFuture<Map<String, Properties>> info();

    /** Sets a key that expires. */
    CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive);

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
