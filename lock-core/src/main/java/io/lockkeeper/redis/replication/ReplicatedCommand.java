/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.RedisNames;
import io.lockkeeper.redis.ScriptRunner;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A script that runs on a master; most count only when replicas have what they wrote. */
final class ReplicatedCommand {

    private static final int MOST_SENDS = 8;

    final CompletableFuture<List<Object>> result = new CompletableFuture<>();
    final String name;

    /** Whether it counts only when replicas have what it wrote. */
    final boolean counts;

    /** Whether the slot of the keys is on its way to the server. */
    boolean asking;

    /** Whether a lost connection may have been there before the command was: a new one is worth a try. */
    boolean retried;

    private final LuaScript script;
    private byte[][] words;
    private int sends;

    ReplicatedCommand(LuaScript script, List<byte[]> keys, List<byte[]> arguments, boolean counts) {
        this.script = script;
        this.name = script.name();
        this.counts = counts;
        this.words = ScriptRunner.words(script, keys, arguments);
    }

    /** Sends the text of the script from now on: the server does not know its hash. */
    void toText() {
        words = ScriptRunner.toText(script, words);
    }

    List<Object> toList(@Nullable Object reply) {
        return script.toList(reply);
    }

    /** Adds what is to be sent. */
    void appendTo(List<byte[][]> commands) {
        if (asking) {
            commands.add(new byte[][] {RedisNames.bytes("ASKING")});
        }
        commands.add(words);
    }

    /** Returns whether the command may be sent once more; where not, it has failed. */
    boolean maySend(Throwable reason) {
        sends++;
        if (sends > MOST_SENDS) {
            fail(reason);
        }
        return !result.isDone();
    }

    void fail(Throwable failure) {
        result.completeExceptionally(Failures.at(name, failure));
    }
}
