/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import java.time.Duration;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Lockkeeper with its defaults. */
final class LockkeeperPeer implements Peer {

    private static final Duration LONG = Duration.ofMinutes(5);

    private final RedisConnectionFactory connections;
    private final LockTemplate locks;
    private final LockMode mode;

    private LockkeeperPeer(RedisConnectionFactory connections, LockMode mode) {
        this.connections = connections;
        this.mode = mode;
        this.locks = LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    static Peer over(RedisConnectionFactory connections, boolean fair) {
        return new LockkeeperPeer(connections, fair ? LockMode.FAIR : LockMode.EXCLUSIVE);
    }

    @Override
    public void underLock(String name, Runnable body) {
        locks.run(LockRequest.of(name).withMode(mode).withWaitTime(LONG), lease -> body.run());
    }

    @Override
    public void close() {
        locks.close();
        Connections.close(connections);
    }
}
