/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Independent redis-servers of a test, and instances over them. Closes everything that was made of it. */
final class Masters implements AutoCloseable {

    private final List<RedisServer> servers;
    private final RedisLockStore.Options options;
    private final List<LockTemplate> templates = new ArrayList<>();
    private final List<RedisConnectionFactory> connections = new ArrayList<>();

    private Masters(List<RedisServer> servers, RedisLockStore.Options options) {
        this.servers = servers;
        this.options = options;
    }

    static Masters start(int count) {
        return start(count, RedisLockStore.Options.defaults());
    }

    static Masters start(int count, RedisLockStore.Options options) {
        return new Masters(
                IntStream.range(0, count).mapToObj(i -> RedisServer.start()).toList(), options);
    }

    RedisServer get(int index) {
        return servers.get(index);
    }

    List<RedisServer> all() {
        return servers;
    }

    /** Returns a new store over all servers, with connections of its own. */
    QuorumLockStore store(Connections driver) {
        return new QuorumLockStore(servers.stream()
                .map(server -> {
                    RedisConnectionFactory own = driver.to(server.port());
                    connections.add(own);
                    return new RedisLockStore(own, options);
                })
                .toList());
    }

    /** Returns a new instance. */
    LockTemplate template(QuorumLockStore store, Duration lease) {
        LockTemplate template = LockTemplate.builder(store)
                .leaseTime(lease)
                .shutdownWait(Duration.ZERO)
                .build();
        templates.add(template);
        return template;
    }

    LockTemplate template(Duration lease) {
        return template(store(Connections.JEDIS), lease);
    }

    /** Returns who owns a lock at a server; empty: nobody. */
    String owner(int index, String name) {
        String owner = servers.get(index).owner("lockkeeper:lock:" + name);
        return owner == null ? "" : owner;
    }

    long token(int index, String name) {
        LockRecord record = LockRecord.of(servers.get(index), "lockkeeper:lock:" + name);
        return record == null ? 0 : record.token();
    }

    /** Returns the token that a clock gives which is so far ahead of ours. */
    static long micros(Duration ahead) {
        return TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis())
                + TimeUnit.NANOSECONDS.toMicros(ahead.toNanos());
    }

    /** Waits until nobody owns a lock at any server. */
    void awaitNoOwner(String name) {
        Awaitility.await().until(() -> IntStream.range(0, servers.size())
                .allMatch(i -> owner(i, name).isEmpty()));
    }

    /** Waits until an instance has its connections: the first ones take long where much else runs. */
    void warm(LockTemplate template) {
        Awaitility.await().ignoreExceptions().until(() -> template.tryRun("warm", lease -> {}));
    }

    /** Pauses one server while something is done. */
    void without(int index, Runnable action) {
        servers.get(index).pause();
        try {
            action.run();
        } finally {
            servers.get(index).resume();
        }
    }

    @Override
    public void close() {
        servers.stream().filter(RedisServer::isRunning).forEach(RedisServer::resume);
        templates.forEach(LockTemplate::close);
        connections.forEach(Connections::close);
        servers.forEach(RedisServer::close);
    }
}
