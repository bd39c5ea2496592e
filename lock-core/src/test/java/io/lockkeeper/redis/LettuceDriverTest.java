/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Scripts on the application's own connection of Lettuce, whatever becomes of that. */
class LettuceDriverTest {

    private static RedisServer server;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private static LettuceConnectionFactory connections(boolean shared) {
        LettuceConnectionFactory factory =
                new LettuceConnectionFactory(new RedisStandaloneConfiguration("localhost", server.port()));
        factory.setShareNativeConnection(shared);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    private static LockTemplate template(LettuceConnectionFactory factory) {
        return LockTemplate.builder(new RedisLockStore(factory, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private static void lockWorks(LockTemplate template) {
        try (LockLease lease = template.acquire("stock")) {
            assertThat(lease.verify()).isTrue();
        }
        assertThat(server.field("lockkeeper:lock:stock", "owner")).isEqualTo("");
    }

    @Test
    void aConnectionThatEndsIsReplaced() {
        LettuceConnectionFactory factory = connections(true);
        try (LockTemplate template = template(factory)) {
            lockWorks(template);
            server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
            lockWorks(template);
        } finally {
            factory.destroy();
        }
    }

    @Test
    void aFactoryThatIsStartedAgainHasAnotherConnection() {
        LettuceConnectionFactory factory = connections(true);
        try (LockTemplate template = template(factory)) {
            lockWorks(template);
            factory.stop();
            factory.start();
            lockWorks(template);
        } finally {
            factory.destroy();
        }
    }

    @Test
    void aServerThatForgotTheScriptsIsToldThemAgain() {
        LettuceConnectionFactory factory = connections(true);
        try (LockTemplate template = template(factory)) {
            lockWorks(template);
            server.command("SCRIPT", "FLUSH");
            lockWorks(template);
        } finally {
            factory.destroy();
        }
    }

    @Test
    void aFactoryThatSharesNoConnectionWillDo() {
        LettuceConnectionFactory factory = connections(false);
        try (LockTemplate template = template(factory)) {
            lockWorks(template);
        } finally {
            factory.destroy();
        }
    }
}
