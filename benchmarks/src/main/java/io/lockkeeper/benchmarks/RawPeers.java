/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.UUID;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

/**
 * The least that a lock on Redis can be: SET NX PX, and a script that deletes what is still ours. No caller can wait
 * for it.
 */
final class RawPeers {

    private static final String DELETE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    private static final long LEASE_MILLIS = 30_000;

    private RawPeers() {}

    @SuppressWarnings("deprecation") // The one class of this kind that all versions of Jedis have.
    static Peer jedis(int port) {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(Connections.POOL);
        pool.setMaxIdle(Connections.POOL);
        JedisPooled client = new JedisPooled(pool, Connections.HOST, port);
        String script = client.scriptLoad(DELETE, "any");
        SetParams free = SetParams.setParams().nx().px(LEASE_MILLIS);
        return new Peer() {
            @Override
            public void underLock(String name, Runnable body) {
                String owner = UUID.randomUUID().toString();
                require(client.set(name, owner, free));
                try {
                    body.run();
                } finally {
                    client.evalsha(script, 1, name, owner);
                }
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }

    static Peer lettuce(int port) {
        RedisClient client = RedisClient.create("redis://" + Connections.HOST + ":" + port);
        StatefulRedisConnection<String, String> connection = client.connect();
        RedisCommands<String, String> commands = connection.sync();
        String script = commands.scriptLoad(DELETE);
        return new Peer() {
            @Override
            public void underLock(String name, Runnable body) {
                String owner = UUID.randomUUID().toString();
                require(commands.set(name, owner, SetArgs.Builder.nx().px(LEASE_MILLIS)));
                try {
                    body.run();
                } finally {
                    commands.evalsha(script, ScriptOutputType.INTEGER, new String[] {name}, owner);
                }
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    private static void require(String answer) {
        if (!"OK".equals(answer)) {
            throw new IllegalStateException("The lock is held: the raw clients take part only without waiters");
        }
    }
}
