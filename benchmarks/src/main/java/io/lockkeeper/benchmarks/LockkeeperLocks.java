/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import java.time.Duration;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Leases of Lockkeeper that its watchdog renews. */
final class LockkeeperLocks implements ManyLocks {

    private final RedisConnectionFactory connections;
    private final LockTemplate locks;
    private LockLease[] leases = new LockLease[0];

    LockkeeperLocks(RedisConnectionFactory connections, long leaseMillis) {
        this.connections = connections;
        this.locks = LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .leaseTime(Duration.ofMillis(leaseMillis))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @Override
    public void expect(int count) {
        leases = new LockLease[count];
    }

    @Override
    public void take(int index) {
        leases[index] = locks.acquire(ManyLocks.name(index));
    }

    @Override
    public void release(int index) {
        leases[index].release();
        leases[index] = null;
    }

    @Override
    public boolean isHeld(int index) {
        return leases[index].isHeld() && leases[index].verify();
    }

    @Override
    public long remainingMillis(int index) {
        return leases[index].remaining().toMillis();
    }

    @Override
    public void close() {
        locks.close();
        Connections.close(connections);
    }
}
