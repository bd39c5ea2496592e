/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Spring Integration's lock registry. */
final class SpringIntegrationPeer implements Peer {

    private final RedisConnectionFactory connections;
    private final RedisLockRegistry registry;

    private SpringIntegrationPeer(RedisConnectionFactory connections, RedisLockRegistry registry) {
        this.connections = connections;
        this.registry = registry;
    }

    static Peer over(RedisConnectionFactory connections, boolean spins) {
        RedisLockRegistry registry = new RedisLockRegistry(connections, "spring", 30_000);
        registry.setRedisLockType(spins ? RedisLockType.SPIN_LOCK : RedisLockType.PUB_SUB_LOCK);
        return new SpringIntegrationPeer(connections, registry);
    }

    @Override
    public void underLock(String name, Runnable body) {
        Lock lock = registry.obtain(name);
        lock.lock();
        try {
            body.run();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        registry.destroy();
        Connections.close(connections);
    }
}
