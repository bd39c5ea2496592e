/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import io.lockkeeper.LockOperations;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * A {@link org.springframework.integration.support.locks.LockRegistry LockRegistry} of Spring Integration over
 * Lockkeeper. A key is the name of the lock: {@code obtain("stock")} and {@code LockOperations.lock("stock")} exclude
 * each other, and a thread that holds the name in one way enters it in the other.
 *
 * <p>The lease of {@code lock()} is renewed while this process runs, so that there is no time to live to choose and no
 * task scheduler to set; {@code lock(ttl)} ends by itself. A {@code ttl} under 100 ms is raised to 100 ms. The locks
 * throw what those of Spring Integration's own registries throw: {@link CannotAcquireLockException} where the store
 * fails or a hold that the thread enters again was lost, {@link IllegalStateException} from {@code unlock()} on a
 * thread that does not hold the lock, and {@link java.util.ConcurrentModificationException} from {@code unlock()} of a
 * hold that was lost.
 *
 * <p>Safe for use by any number of threads.
 */
public final class LockkeeperLockRegistry
        implements ExpirableLockRegistry<DistributedLock>, RenewableLockRegistry<DistributedLock> {

    private static final int DEFAULT_CAPACITY = 100_000;

    private final LockOperations operations;

    /** Guarded by itself; what was obtained longest ago comes first. */
    private final Map<String, RegisteredLock> locks = new LinkedHashMap<>(16, 0.75f, true);

    private final ConcurrentMap<String, RegisteredLock.Hold> holds = new ConcurrentHashMap<>();

    private volatile int cacheCapacity = DEFAULT_CAPACITY;

    /**
     * Creates a registry.
     *
     * @param operations where locks are acquired, such as the {@link io.lockkeeper.LockTemplate} of the application
     */
    public LockkeeperLockRegistry(LockOperations operations) {
        this.operations = Objects.requireNonNull(operations, "operations must not be null");
    }

    /**
     * Sets how many locks are remembered, so that the same key gives the same object. Beyond it, those that this
     * process does not hold are forgotten first; a lock that was forgotten still works.
     *
     * @param cacheCapacity the number, at least 1; 100,000 unless set
     * @throws IllegalArgumentException if the number is less than 1
     */
    public void setCacheCapacity(int cacheCapacity) {
        if (cacheCapacity < 1) {
            throw new IllegalArgumentException("The cache capacity must be 1 or more, but is " + cacheCapacity);
        }
        this.cacheCapacity = cacheCapacity;
    }

    /**
     * Returns the lock of a key. Does not lock it.
     *
     * @param lockKey the lock's name, a String that is not blank and at most 512 bytes in UTF-8
     * @return the same object for the same key, unless it was forgotten
     * @throws IllegalArgumentException if the key is something else
     */
    @Override
    public DistributedLock obtain(Object lockKey) {
        String name = name(lockKey);
        synchronized (locks) {
            RegisteredLock lock =
                    locks.computeIfAbsent(name, key -> new RegisteredLock(key, operations.lock(key), holds));
            if (locks.size() > cacheCapacity) {
                makeRoom(lock);
            }
            return lock;
        }
    }

    private void makeRoom(RegisteredLock obtained) {
        for (Iterator<RegisteredLock> known = locks.values().iterator();
                locks.size() > cacheCapacity && known.hasNext(); ) {
            RegisteredLock lock = known.next();
            if (lock != obtained && isForgotten(lock)) {
                known.remove();
            }
        }
    }

    /**
     * Forgets the locks that this process does not hold and that were locked last, or obtained, before a while.
     *
     * @param age how long ago, in ms
     */
    @Override
    public void expireUnusedOlderThan(long age) {
        long now = System.currentTimeMillis();
        synchronized (locks) {
            locks.values().removeIf(lock -> now - lock.usedAt() >= age && isForgotten(lock));
            holds.entrySet()
                    .removeIf(hold -> !locks.containsKey(hold.getKey())
                            && !operations
                                    .lock(hold.getKey())
                                    .isHeldByThread(hold.getValue().thread()));
        }
    }

    private static boolean isForgotten(RegisteredLock lock) {
        lock.forgetEndedHold();
        return !lock.isHeldHere();
    }

    /**
     * Makes sure that this thread still holds a lock. One that was locked without a time to live is renewed all the
     * time, so that only the store is asked; one with a time to live has it once more, from now: of several that were
     * given to {@code lock}, the longest. The end of a hold that was locked in another way than by this registry stays
     * as it is, and only the store is asked; {@link #renewLock(Object, Duration)} gives it a new one.
     *
     * @param lockKey the lock's name
     * @throws IllegalStateException if this thread does not hold the lock, or has lost it
     * @throws io.lockkeeper.LockStoreException if the store failed or did not answer
     */
    @Override
    public void renewLock(Object lockKey) {
        renew(lockKey, null);
    }

    /**
     * Gives the hold of this thread a new end, and ends its automatic renewal.
     *
     * @param lockKey the lock's name
     * @param ttl how long the lock stays held from now on; a time under 100 ms is raised to 100 ms
     * @throws IllegalStateException if this thread does not hold the lock, or has lost it
     * @throws IllegalArgumentException if the time is zero or negative
     * @throws io.lockkeeper.LockStoreException if the store failed or did not answer
     */
    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        renew(lockKey, Objects.requireNonNull(ttl, "ttl must not be null"));
    }

    private void renew(Object lockKey, @Nullable Duration ttl) {
        if (!((RegisteredLock) obtain(lockKey)).renew(ttl)) {
            throw new IllegalStateException(
                    "Could not renew lock '" + lockKey + "': this thread does not hold it, or has lost it");
        }
    }

    private static String name(Object lockKey) {
        if (lockKey instanceof String name) {
            return name;
        }
        throw new IllegalArgumentException("A lock key must be a String, the same in all instances, but is "
                + (lockKey == null ? "null" : "a " + lockKey.getClass().getName()));
    }

    @Override
    public String toString() {
        return "LockkeeperLockRegistry[" + operations + "]";
    }
}
