/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * One search for keys: on all servers at once, a page at a time, until enough keys are found or there are no more.
 *
 * <p>Not with the cursors of spring-data-redis: the one over a Jedis cluster goes on to read from a connection that it has
 * given back to the pool, and so takes the answers of other commands.
 */
final class KeyScan {

    private static final byte[] START = {'0'};
    private static final byte[] PAGE = RedisNames.bytes("500");

    private final RedisCommands commands;
    private final byte[] pattern;
    private final int limit;
    private final Set<ByteBuffer> found = new LinkedHashSet<>();

    KeyScan(RedisCommands commands, byte[] pattern, int limit) {
        this.commands = commands;
        this.pattern = pattern;
        this.limit = limit;
    }

    /** Returns the keys found on the servers of some keys. */
    CompletableFuture<List<byte[]>> onServersOf(List<byte[]> routes) {
        CompletableFuture<?>[] ends = routes.stream()
                .map(route -> readFrom(START, route, new CompletableFuture<>()))
                .toArray(CompletableFuture[]::new);
        return CompletableFuture.allOf(ends).thenApply(done -> keys());
    }

    private CompletableFuture<Void> readFrom(byte[] cursor, byte[] route, CompletableFuture<Void> end) {
        commands.eval(LuaScript.SCAN, List.of(route), List.of(cursor, pattern, PAGE), 0)
                .thenApply(this::take)
                .whenComplete((next, failure) -> {
                    if (failure != null) {
                        end.completeExceptionally(failure);
                    } else if (next.length == 1 && next[0] == START[0]) {
                        end.complete(null);
                    } else {
                        readFrom(next, route, end);
                    }
                });
        return end;
    }

    /** Takes the keys of a page and returns the cursor of the next one. */
    private byte[] take(List<Object> page) {
        synchronized (found) {
            for (Object key : (List<?>) page.get(1)) {
                if (found.size() < limit) {
                    found.add(ByteBuffer.wrap((byte[]) key));
                }
            }
            return found.size() >= limit ? START : (byte[]) page.get(0);
        }
    }

    private List<byte[]> keys() {
        synchronized (found) {
            return found.stream().map(ByteBuffer::array).toList();
        }
    }
}
