/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.springframework.data.redis.connection.RedisConnection;

/**
 * The seam to a Redis client: runs scripts. Every future is completed within the command timeout, with the reply or
 * with a {@link io.lockkeeper.store.StoreException}.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 */
public interface ScriptRunner extends AutoCloseable {

    /**
     * Runs a script by its hash, and by its text where the server does not know it.
     *
     * @param keys one at least and all of one slot
     * @param waitNanos how long this thread waits for the reply, and may do input and output; 0: not at all
     * @return its reply, a text as byte[]
     */
    CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos);

    /** Returns the words of the command that runs a script by its hash. */
    static byte[][] words(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        List<byte[]> words = new ArrayList<>(3 + keys.size() + arguments.size());
        words.add(RedisNames.bytes("EVALSHA"));
        words.add(RedisNames.bytes(script.sha1()));
        words.add(RedisNames.bytes(Integer.toString(keys.size())));
        words.addAll(keys);
        words.addAll(arguments);
        return words.toArray(byte[][]::new);
    }

    /** Returns the same with the text of the script, for a server that does not know its hash. */
    static byte[][] toText(LuaScript script, byte[][] words) {
        byte[][] text = words.clone();
        text[0] = RedisNames.bytes("EVAL");
        text[1] = RedisNames.bytes(script.source());
        return text;
    }

    /** Opens a connection, or uses the open one before it is idle for too long; called every 20 s or so. */
    default CompletableFuture<?> keepAlive() {
        return CompletableFuture.completedFuture(null);
    }

    /** Takes note of a connection over which a command was answered, on a thread that may wait. */
    default void used(RedisConnection connection) {}

    /** Takes note of a connection that leads to a replica: whatever has its address now, it must be made anew. */
    default void leave(RedisConnection connection) {}

    /** Ends the connections of its own to all other servers: these are the masters of the cluster now. */
    default void retain(Set<String> servers) {}

    /** Returns what changes when the client loses a connection: it may send again by itself what had no answer then. */
    default Object losses(RedisConnection connection) {
        return 0;
    }

    /** Ends what is under way, and refuses further scripts. */
    @Override
    default void close() {}
}
