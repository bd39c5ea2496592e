/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.peers;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** The one server of a run, and templates over it. */
public final class PeerRedis {

    private static final RedisServer SERVER = RedisServer.start();
    private static final RedisConnectionFactory CONNECTIONS = Connections.JEDIS.to(SERVER.port());

    private PeerRedis() {}

    /** Returns connections to the server. */
    public static RedisConnectionFactory connections() {
        return CONNECTIONS;
    }

    /**
     * Returns a new instance.
     *
     * @param keyPrefix what its locks have in common with those of other instances of that prefix
     */
    public static LockTemplate template(String keyPrefix) {
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withKeyPrefix(keyPrefix);
        // Connections of its own, as an instance has: tests make more instances than a pool has connections.
        RedisConnectionFactory connections = Connections.JEDIS.to(SERVER.port());
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
    }
}
