/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A script that runs on a master; most count only when replicas have what they wrote. */
final class AckedCommand {

    private static final int MOST_SENDS = 8;

    final CompletableFuture<List<Object>> result = new CompletableFuture<>();
    private final LuaScript script;
    private final int keys;
    private final byte[][] keysAndArguments;
    private int sends;

    /** Whether it counts only when replicas have what it wrote. */
    final boolean acked;

    /** Whether the server does not know the hash of the script. */
    boolean byText;

    /** Whether the slot of the keys is on its way to the server. */
    boolean asking;

    /** Whether a lost connection may have been there before the command was: a new one is worth a try. */
    boolean retried;

    AckedCommand(LuaScript script, int keys, byte[][] keysAndArguments, boolean acked) {
        this.acked = acked;
        this.script = script;
        this.keys = keys;
        this.keysAndArguments = keysAndArguments;
    }

    String name() {
        return script.name();
    }

    /** Adds what is to be sent. */
    void appendTo(List<byte[][]> commands) {
        if (asking) {
            commands.add(new byte[][] {RedisNames.bytes("ASKING")});
        }
        byte[][] command = new byte[3 + keysAndArguments.length][];
        command[0] = RedisNames.bytes(byText ? "EVAL" : "EVALSHA");
        command[1] = RedisNames.bytes(byText ? script.source() : script.sha1());
        command[2] = RedisNames.bytes(Integer.toString(keys));
        System.arraycopy(keysAndArguments, 0, command, 3, keysAndArguments.length);
        commands.add(command);
    }

    /** Returns whether the command may be sent once more; where not, it has failed. */
    boolean maySend(Throwable reason) {
        sends++;
        if (sends > MOST_SENDS) {
            fail("Redis failed at " + name() + ": " + reason.getMessage(), reason);
        }
        return !result.isDone();
    }

    void fail(String message, @Nullable Throwable cause) {
        result.completeExceptionally(new StoreException(message, cause));
    }
}
