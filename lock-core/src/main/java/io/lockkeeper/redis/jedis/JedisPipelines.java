/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import io.lockkeeper.redis.LuaScript;
import io.lockkeeper.redis.ScriptRunner;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Several pipelines to one server: while the leader of one waits for its replies, another thread leads the next one,
 * and no processor is idle. A crowd of callers uses two alone, because its batches would be smaller over more.
 */
final class JedisPipelines implements ScriptRunner {

    private static final int MOST = 4;
    private static final int OF_A_CROWD = 2;
    private static final int CROWD = 8;

    private final List<JedisPipeline> pipelines;

    /** The number of calls without an answer. */
    private final AtomicInteger callers = new AtomicInteger();

    JedisPipelines(Supplier<JedisPipeline> pipeline) {
        this.pipelines = Stream.generate(pipeline).limit(MOST).toList();
    }

    @Override
    public CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        int usable = callers.incrementAndGet() > CROWD ? OF_A_CROWD : MOST;
        CompletableFuture<Object> answer = null;
        try {
            answer = next(keys.get(0), usable).eval(script, keys, arguments, waitNanos);
            return answer;
        } finally {
            if (answer == null || answer.isDone()) {
                callers.decrementAndGet();
            } else {
                answer.whenComplete((reply, failure) -> callers.decrementAndGet());
            }
        }
    }

    /** Returns the first free connected pipeline; if all are busy, the one that the lock's hash selects. */
    private JedisPipeline next(byte[] key, int usable) {
        JedisPipeline missing = null;
        JedisPipeline open = null;
        JedisPipeline free = null;
        for (int i = 0; free == null && i < usable; i++) {
            JedisPipeline one = pipelines.get(i);
            if (!one.isOpen()) {
                missing = missing == null ? one : missing;
            } else {
                open = one;
                free = one.isFree() ? one : null;
            }
        }
        if (open == null) {
            return pipelines.get(0);
        }
        if (missing != null && missing.isFree() && (free == null || missing == pipelines.get(0))) {
            // In the background: no caller waits for a further connection, nor fails where the server has none to give.
            missing.keepAlive();
        }
        if (free != null) {
            return free;
        }
        JedisPipeline usual = pipelines.get(Math.floorMod(Arrays.hashCode(key), usable));
        return usual.isOpen() ? usual : open;
    }

    @Override
    public CompletableFuture<?> keepAlive() {
        pipelines.stream().skip(1).filter(JedisPipeline::isConnected).forEach(JedisPipeline::keepAlive);
        return pipelines.get(0).keepAlive();
    }

    @Override
    public void close() {
        pipelines.forEach(JedisPipeline::close);
    }
}
