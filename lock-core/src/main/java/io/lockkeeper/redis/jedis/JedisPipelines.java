/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.ScriptRunner;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Two pipelines to one server: while the leader of one waits for its replies, another thread leads the other. With few
 * callers the processors are idle in between otherwise; more pipelines would make the batches of many callers smaller.
 */
record JedisPipelines(JedisPipeline first, JedisPipeline second) implements ScriptRunner {

    @Override
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        return next(keys.get(0)).eval(script, keys, arguments, waitNanos);
    }

    /** Returns a free pipeline; where none is, always the same for one lock. The second one connects when needed. */
    private JedisPipeline next(byte[] key) {
        return first.isFree() || (!second.isFree() && Arrays.hashCode(key) % 2 == 0) ? first : second;
    }

    @Override
    public CompletableFuture<?> keepAlive() {
        if (second.isOpen()) {
            second.keepAlive();
        }
        return first.keepAlive();
    }

    @Override
    public void close() {
        first.close();
        second.close();
    }
}
