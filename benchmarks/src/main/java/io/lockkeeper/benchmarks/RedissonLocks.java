/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Locks of Redisson that its watchdog renews. */
final class RedissonLocks implements ManyLocks {

    private final RedissonClient client;

    RedissonLocks(int port, long leaseMillis) {
        Config config = new Config();
        config.setLockWatchdogTimeout(leaseMillis);
        config.useSingleServer().setAddress("redis://" + Connections.HOST + ":" + port);
        client = Redisson.create(config);
    }

    @Override
    public void expect(int count) {
        // Its own list is all there is.
    }

    @Override
    public void take(int index) {
        client.getLock(ManyLocks.name(index)).lock();
    }

    @Override
    public void release(int index) {
        client.getLock(ManyLocks.name(index)).unlock();
    }

    @Override
    public boolean isHeld(int index) {
        return client.getLock(ManyLocks.name(index)).isHeldByCurrentThread();
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
