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

/** A driver for one client, which leaves to the general driver whatever it has no better way for. */
abstract class DelegatingDriver implements RedisDriver {

    final SpringDataRedisDriver general;

    DelegatingDriver(SpringDataRedisDriver general) {
        this.general = general;
    }

    @Override
    public CompletableFuture<Long> prepare(List<LuaScript> scripts) {
        return general.prepare(scripts);
    }

    @Override
    public int slot(byte[] key) {
        return general.slot(key);
    }

    @Override
    public String serverOf(byte[] key) {
        return general.serverOf(key);
    }

    @Override
    public CompletableFuture<List<byte[]>> scan(byte[] pattern, int limit) {
        return general.scan(pattern, limit);
    }

    @Override
    public CompletableFuture<List<byte @Nullable []>> get(List<byte[]> keys) {
        return general.get(keys);
    }

    @Override
    public CompletableFuture<Map<String, Properties>> info() {
        return general.info();
    }

    @Override
    public CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive) {
        return general.set(key, value, timeToLive);
    }

    @Override
    public CompletableFuture<Void> delete(byte[] key) {
        return general.delete(key);
    }

    @Override
    public void subscribe(byte[] channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        general.subscribe(channel, onMessage, onSubscribed);
    }

    @Override
    public @Nullable Instant subscribedSince() {
        return general.subscribedSince();
    }

    @Override
    public void close() {
        general.close();
    }
}
