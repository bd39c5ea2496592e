/* SPDX-License-Identifier: Apache-2.0 */
package org.springframework.integration.redis.util;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.integration.LockkeeperLockRegistry;
import io.lockkeeper.peers.PeerRedis;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.TaskScheduler;

/**
 * Stands where Spring Integration's tests expect its registry over Redis: each is an instance of ours. A time to live
 * that is not renewed, which that registry has for all of its locks, is the lease time of each lock here.
 */
public final class RedisLockRegistry
        implements ExpirableLockRegistry<DistributedLock>, RenewableLockRegistry<DistributedLock> {

    /** What the tests read by its name. */
    final String registryKey;

    /** What the tests read by its name: the locks that the registry remembers. */
    final Object locks;

    private final LockTemplate template;
    private final LockkeeperLockRegistry registry;
    private final Map<DistributedLock, DistributedLock> expiring = new ConcurrentHashMap<>();
    private @Nullable Duration expireAfter;

    /** The tests run once for each. */
    public enum RedisLockType {
        LOCKKEEPER
    }

    public RedisLockRegistry(RedisConnectionFactory connections, String registryKey) {
        this.registryKey = registryKey;
        this.template = PeerRedis.template(registryKey);
        this.registry = new LockkeeperLockRegistry(template);
        Object remembered = new DirectFieldAccessor(registry).getPropertyValue("locks");
        this.locks = Objects.requireNonNull(remembered);
    }

    public RedisLockRegistry(RedisConnectionFactory connections, String registryKey, long expireAfter) {
        this(connections, registryKey);
        this.expireAfter = Duration.ofMillis(Math.max(100, expireAfter));
    }

    public void setRedisLockType(RedisLockType type) {}

    public void setExecutor(Executor executor) {}

    public void setCacheCapacity(int cacheCapacity) {
        registry.setCacheCapacity(cacheCapacity);
    }

    @Override
    public void setRenewalTaskScheduler(TaskScheduler scheduler) {
        expireAfter = null;
    }

    @Override
    public DistributedLock obtain(Object lockKey) {
        DistributedLock lock = registry.obtain(lockKey);
        Duration ttl = expireAfter;
        return ttl == null ? lock : expiring.computeIfAbsent(lock, known -> new ExpiringLock(known, ttl));
    }

    @Override
    public void expireUnusedOlderThan(long age) {
        registry.expireUnusedOlderThan(age);
    }

    @Override
    public void renewLock(Object lockKey) {
        registry.renewLock(lockKey);
    }

    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        registry.renewLock(lockKey, ttl);
    }

    public void destroy() {
        template.close();
    }

    private record ExpiringLock(DistributedLock target, Duration expireAfter) implements DistributedLock {

        @Override
        public void lock() {
            target.lock(expireAfter);
        }

        @Override
        public void lock(Duration ttl) {
            target.lock(ttl);
        }

        @Override
        public void lockInterruptibly() throws InterruptedException {
            target.tryLock(Duration.ofDays(1), expireAfter);
        }

        @Override
        public boolean tryLock() {
            try {
                return target.tryLock(Duration.ZERO, expireAfter);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return false;
            }
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            return target.tryLock(Duration.ofNanos(unit.toNanos(time)), expireAfter);
        }

        @Override
        public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
            return target.tryLock(waitTime, ttl);
        }

        @Override
        public void unlock() {
            target.unlock();
        }

        @Override
        public Condition newCondition() {
            return target.newCondition();
        }
    }
}
