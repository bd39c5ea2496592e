/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.api.StatefulConnection;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.testing.RedisServer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;

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

    private static LettuceConnectionFactory factory(boolean shared) {
        LettuceConnectionFactory factory =
                new LettuceConnectionFactory(new RedisStandaloneConfiguration("localhost", server.port()));
        factory.setShareNativeConnection(shared);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    private static void over(boolean shared, BiConsumer<LockTemplate, LettuceConnectionFactory> body) {
        LettuceConnectionFactory factory = factory(shared);
        try (LockTemplate template = LockTemplate.builder(
                        new RedisLockStore(factory, RedisLockStore.Options.defaults()))
                .shutdownWait(Duration.ZERO)
                .build()) {
            lockWorks(template);
            body.accept(template, factory);
            lockWorks(template);
        } finally {
            factory.destroy();
        }
    }

    private static void lockWorks(LockTemplate template) {
        try (LockLease lease = template.acquire("stock")) {
            assertThat(lease.verify()).isTrue();
        }
        assertThat(server.owner("lockkeeper:lock:stock")).isEqualTo("");
    }

    @Test
    void aConnectionThatEndsIsReplaced() {
        over(true, (template, factory) -> server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
    }

    /** Redis resets a connection that it ends with a command unread, and the client may see that first. */
    @Test
    void aCommandBehindTheEndOfAConnectionToAReplicaIsNotLost() {
        LettuceConnectionFactory factory = factory(true);
        List<LockTemplate> templates = new ArrayList<>();
        try {
            for (int i = 0; i < 40; i++) {
                // Each leaves the connection of a replica once.
                LockTemplate template = LockTemplate.builder(
                                new RedisLockStore(factory, RedisLockStore.Options.defaults()))
                        .shutdownWait(Duration.ZERO)
                        .build();
                templates.add(template);
                lockWorks(template);
                server.command("REPLICAOF", "localhost", "1");
                assertThatThrownBy(() -> template.acquire("stock")).hasMessageContaining("READONLY");
                server.command("REPLICAOF", "NO", "ONE");
                lockWorks(template);
            }
        } finally {
            CompletableFuture.allOf(templates.stream()
                            .map(template -> CompletableFuture.runAsync(template::close))
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
            factory.destroy();
        }
    }

    /** A command that was refused leaves nothing behind for which closing would wait. */
    @Test
    void aTemplateThatWasRefusedByAReplicaClosesSoon() {
        Duration timeout = Duration.ofSeconds(20);
        LettuceConnectionFactory factory = factory(true);
        try {
            List<Duration> took = new ArrayList<>();
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(timeout);
            for (int i = 0; i < 3; i++) {
                LockTemplate template = LockTemplate.builder(new RedisLockStore(factory, options))
                        .leaseTime(Duration.ofMinutes(1))
                        .shutdownWait(Duration.ZERO)
                        .build();
                lockWorks(template);
                server.command("REPLICAOF", "localhost", "1");
                assertThatThrownBy(() -> template.acquire("stock")).hasMessageContaining("READONLY");
                server.command("REPLICAOF", "NO", "ONE");
                long begin = System.nanoTime();
                template.close();
                took.add(Duration.ofNanos(System.nanoTime() - begin));
            }
            assertThat(took).allSatisfy(time -> assertThat(time).isLessThan(timeout.dividedBy(2)));
        } finally {
            factory.destroy();
        }
    }

    @Test
    void aTemplateThatGotNoConnectionOfThePoolClosesSoon() {
        Duration timeout = Duration.ofSeconds(4);
        GenericObjectPoolConfig<StatefulConnection<?, ?>> pool = new GenericObjectPoolConfig<>();
        LettuceConnectionFactory factory = new LettuceConnectionFactory(
                new RedisStandaloneConfiguration("localhost", server.port()),
                LettucePoolingClientConfiguration.builder().poolConfig(pool).build());
        factory.setShareNativeConnection(false);
        factory.afterPropertiesSet();
        factory.start();
        List<RedisConnection> taken = new ArrayList<>();
        try {
            RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(timeout);
            LockTemplate template = LockTemplate.builder(new RedisLockStore(factory, options))
                    .shutdownWait(Duration.ZERO)
                    .build();
            lockWorks(template);
            for (int i = 0; i < pool.getMaxTotal(); i++) {
                taken.add(factory.getConnection());
                taken.get(i).ping();
            }
            assertThatThrownBy(() -> template.acquire("stock")).isInstanceOf(LockStoreException.class);
            long begin = System.nanoTime();
            template.close();
            // The description of the instance cannot be taken away; of the attempt there is nothing.
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(timeout.multipliedBy(2));
        } finally {
            taken.forEach(RedisConnection::close);
            factory.destroy();
        }
    }

    @Test
    void aFactoryThatIsStartedAgainHasAnotherConnection() {
        over(true, (template, factory) -> {
            factory.stop();
            factory.start();
        });
    }

    @Test
    void aServerThatForgotTheScriptsIsToldThemAgain() {
        over(true, (template, factory) -> server.command("SCRIPT", "FLUSH"));
    }

    @Test
    void aFactoryThatSharesNoConnectionWillDo() {
        over(false, (template, factory) -> lockWorks(template));
    }

    /** The first lock after a failure goes another way, whose connection may have to be made or looked at. */
    @Test
    void aConnectionThatIsLookedAtBeforeItsUseKeepsNobodyWaiting() {
        over(true, (template, factory) -> {
            factory.setValidateConnection(true);
            factory.resetConnection();
            lockWorks(template);
        });
    }

    /** One look serves all commands: it must come in time for those that follow the one that it was set for. */
    @Test
    void eachScriptFailsWhenItsOwnTimeIsOver() {
        Duration limit = Duration.ofSeconds(3);
        Duration later = Duration.ofMillis(500);
        LettuceConnectionFactory factory = factory(true);
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        RedisCommands driver = new RedisCommands(factory, limit, timer, Acks.of("0", Duration.ZERO));
        LuaScript inspect = ScriptCalls.scripts(0, 0).inspect();
        byte[] key = "lockkeeper:lock:stock".getBytes(StandardCharsets.UTF_8);
        try {
            driver.prepare(List.of(inspect)).join();
            driver.eval(inspect, List.of(key), List.of(), 0).join();
            server.pause();
            CompletableFuture<?> first = driver.eval(inspect, List.of(key), List.of(), 0);
            AtomicLong begin = new AtomicLong();
            CompletableFuture<?> second = CompletableFuture.supplyAsync(
                            () -> {
                                begin.set(System.nanoTime());
                                return driver.eval(inspect, List.of(key), List.of(), 0);
                            },
                            CompletableFuture.delayedExecutor(later.toMillis(), TimeUnit.MILLISECONDS))
                    .thenCompose(answer -> answer);
            assertThat(first).failsWithin(limit.multipliedBy(2));
            assertThat(second)
                    .failsWithin(limit.multipliedBy(2))
                    .withThrowableThat()
                    .withMessageContaining("within 3000 ms");
            // The next look, as long after the first one as that was after its command, would come too late.
            assertThat(Duration.ofNanos(System.nanoTime() - begin.get()))
                    .isLessThan(limit.multipliedBy(2).minus(later));
        } finally {
            server.resume();
            driver.close();
            timer.shutdownNow();
            factory.destroy();
        }
    }

    @Test
    void whatIsUnderWayFailsWhenTheDriverIsClosed() {
        LettuceConnectionFactory factory = factory(true);
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        RedisCommands driver = new RedisCommands(factory, Duration.ofSeconds(30), timer, Acks.of("0", Duration.ZERO));
        byte[] key = "lockkeeper:lock:stock".getBytes(StandardCharsets.UTF_8);
        try {
            driver.prepare(ScriptCalls.scripts(0, 0).all()).join();
            driver.eval(ScriptCalls.scripts(0, 0).inspect(), List.of(key), List.of(), 0)
                    .join();
            server.pause();
            CompletableFuture<?> silent = driver.eval(ScriptCalls.scripts(0, 0).inspect(), List.of(key), List.of(), 0);

            driver.close();

            assertThat(silent)
                    .failsWithin(Duration.ofSeconds(15))
                    .withThrowableThat()
                    .withMessageContaining("closed");
            assertThat(driver.eval(ScriptCalls.scripts(0, 0).inspect(), List.of(key), List.of(), 0))
                    .isCompletedExceptionally();
        } finally {
            server.resume();
            timer.shutdownNow();
            factory.destroy();
        }
    }
}
