/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lockkeeper.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** One run of a script on a connection of Lettuce. */
final class LettuceCall {

    /** The reply to come; a failure is a {@link StoreException}. */
    final CompletableFuture<List<Object>> result = new CompletableFuture<>();

    private final RedisClusterAsyncCommands<byte[], byte[]> commands;
    private final LuaScript script;
    private final byte[][] keys;
    private final byte[][] arguments;

    /** How often connections were lost, after which Lettuce sends again what had no answer. */
    private final LongSupplier losses;

    private final long lossesBefore;
    private volatile @Nullable RedisFuture<List<Object>> sent;

    LettuceCall(
            RedisClusterAsyncCommands<byte[], byte[]> commands,
            LuaScript script,
            List<byte[]> keys,
            List<byte[]> arguments,
            LongSupplier losses) {
        this.losses = losses;
        this.lossesBefore = losses.getAsLong();
        this.commands = commands;
        this.script = script;
        this.keys = keys.toArray(byte[][]::new);
        this.arguments = arguments.toArray(byte[][]::new);
    }

    /** Sends the script's hash, and its text where the server does not know that. */
    void send() {
        send(false);
    }

    private void send(boolean text) {
        try {
            RedisFuture<List<Object>> command = text
                    ? commands.eval(script.source(), ScriptOutputType.MULTI, keys, arguments)
                    : commands.evalsha(script.sha1(), ScriptOutputType.MULTI, keys, arguments);
            sent = command;
            command.whenComplete((reply, failure) -> answered(text, reply, failure));
        } catch (RuntimeException refusal) {
            fail(refusal);
        }
    }

    private void answered(boolean text, @Nullable List<Object> reply, @Nullable Throwable failure) {
        if (result.isDone()) {
            return;
        }
        if (reply != null && ScriptReply.isNotHeld(reply) && losses.getAsLong() != lossesBefore) {
            fail(ScriptReply.mayHaveRunBefore());
        } else if (reply != null) {
            result.complete(reply);
        } else if (!text && failure != null && Failures.says(failure, "NOSCRIPT")) {
            // Refused before it ran, so it is safe to send again.
            send(true);
        } else {
            fail(failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure);
        }
    }

    private void fail(@Nullable Throwable cause) {
        String why = cause == null ? "it gave no reply" : Failures.rootMessage(cause);
        result.completeExceptionally(new StoreException("Redis failed at " + script.name() + ": " + why, cause));
    }

    /** Takes the command back where Lettuce still keeps it for a connection to come. */
    void cancel() {
        RedisFuture<List<Object>> command = sent;
        if (command != null) {
            command.cancel(true);
        }
    }
}
