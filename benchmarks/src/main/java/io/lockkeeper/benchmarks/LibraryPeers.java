/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import com.baomidou.lock.LockInfo;
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** The other libraries, each with its defaults. */
final class LibraryPeers {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final long PATIENCE_MILLIS = 300_000;
    private static final long SHEDLOCK_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private LibraryPeers() {}

    static Peer redisson(int port, boolean fair) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + Connections.HOST + ":" + port);
        RedissonClient client = Redisson.create(config);
        return new Peer() {
            @Override
            public void underLock(String name, Runnable body) {
                RLock lock = fair ? client.getFairLock(name) : client.getLock(name);
                lock.lock();
                try {
                    body.run();
                } finally {
                    lock.unlock();
                }
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    static Peer lock4j(int port) {
        RedisConnectionFactory connections = Connections.jedis(port);
        Lock4jProperties properties = new Lock4jProperties();
        LockTemplate template = new LockTemplate();
        template.setProperties(properties);
        template.setExecutors(List.of(new RedisTemplateLockExecutor(new StringRedisTemplate(connections), properties)));
        try {
            template.afterPropertiesSet();
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
        return new Peer() {
            @Override
            public void underLock(String name, Runnable body) {
                LockInfo lock = template.lock(name, LEASE.toMillis(), PATIENCE_MILLIS);
                if (lock == null) {
                    throw new IllegalStateException("lock4j gave up");
                }
                try {
                    body.run();
                } finally {
                    template.releaseLock(lock);
                }
            }

            @Override
            public void close() {
                Connections.close(connections);
            }
        };
    }

    /** Does not wait by itself: asks again every 10 ms. */
    static Peer shedLock(int port) {
        RedisConnectionFactory connections = Connections.jedis(port);
        RedisLockProvider provider = new RedisLockProvider.Builder(connections).build();
        return new Peer() {
            @Override
            public void underLock(String name, Runnable body) {
                SimpleLock lock = provider.lock(configuration(name)).orElse(null);
                while (lock == null) {
                    LockSupport.parkNanos(SHEDLOCK_PAUSE_NANOS);
                    lock = provider.lock(configuration(name)).orElse(null);
                }
                try {
                    body.run();
                } finally {
                    lock.unlock();
                }
            }

            @Override
            public void close() {
                Connections.close(connections);
            }
        };
    }

    private static LockConfiguration configuration(String name) {
        return new LockConfiguration(Instant.now(), name, LEASE, Duration.ZERO);
    }
}
