/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisScriptingCommands;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** An error in a client: no caller waits for the command timeout, and none takes what may have run for not sent. */
class MemoryShortageTest {

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endsTheCommandAtOnceAndSaysWhetherItMayHaveRun(boolean wasGiven) {
        try (RedisServer server = RedisServer.start()) {
            JedisConnectionFactory connections =
                    new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", server.port())) {
                        @Override
                        public RedisConnection getConnection() {
                            if (!wasGiven) {
                                throw new OutOfMemoryError("as the test wants it");
                            }
                            RedisConnection real = super.getConnection();
                            return (RedisConnection) Proxy.newProxyInstance(
                                    getClass().getClassLoader(),
                                    new Class<?>[] {RedisConnection.class},
                                    (proxy, method, arguments) -> {
                                        if (method.getReturnType() == RedisScriptingCommands.class) {
                                            throw new OutOfMemoryError("as the test wants it");
                                        }
                                        return method.invoke(real, arguments);
                                    });
                        }
                    };
            connections.afterPropertiesSet();
            connections.start();
            ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory("timer"));
            try (RedisCommands commands = new RedisCommands(
                    connections, Duration.ofSeconds(60), timer, Acks.of("0", Duration.ofMillis(500)))) {
                CompletableFuture<@Nullable Object> answer = commands.eval(
                        new LuaScript("one", "return 'x'", "0".repeat(40)),
                        List.of(RedisNames.bytes("key")),
                        List.of(),
                        0);
                assertThatThrownBy(() -> answer.get(20, TimeUnit.SECONDS))
                        .cause()
                        .isExactlyInstanceOf(wasGiven ? StoreException.class : CommandNotExecutedException.class);
            } finally {
                timer.shutdownNow();
                Connections.close(connections);
            }
        }
    }
}
