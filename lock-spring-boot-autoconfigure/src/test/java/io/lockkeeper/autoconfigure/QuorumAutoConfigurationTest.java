/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.quorum.QuorumLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A template over independent masters that the properties name. */
class QuorumAutoConfigurationTest {

    private static List<RedisServer> masters;

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.lease-time=1s");

    @BeforeAll
    static void start() {
        masters = Stream.generate(() -> RedisServer.start("--requirepass", "secret"))
                .limit(3)
                .toList();
    }

    @AfterAll
    static void stop() {
        masters.forEach(RedisServer::close);
    }

    private static String uri(RedisServer server) {
        return "redis://:secret@127.0.0.1:" + server.port() + "/2";
    }

    private static String nodes() {
        return "lockkeeper.redis.quorum.nodes="
                + masters.stream().map(QuorumAutoConfigurationTest::uri).collect(Collectors.joining(","));
    }

    @Test
    void locksOnAMajorityNeedNoConnectionFactoryOfTheApplication() {
        LockTemplate[] closed = new LockTemplate[1];
        runner.withPropertyValues(nodes()).run(context -> {
            assertThat(context)
                    .hasSingleBean(QuorumLockStore.class)
                    .hasSingleBean(LockStore.class)
                    .doesNotHaveBean(RedisConnectionFactory.class);
            LockTemplate template = context.getBean(LockTemplate.class);
            closed[0] = template;
            // Masters that were started a moment ago give no locks for a lease.
            Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> isGiven(template));
            masters.get(1).kill();
            // The third may have been started a second after the first, and still give none.
            Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> isGiven(template));
        });
        assertThat(isGiven(closed[0])).isFalse();
        // close() asks the timer's thread to end, and does not wait for that.
        Awaitility.await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("lockkeeper-quorum-timer")));
    }

    @Test
    void eachNodeMayHaveAnElementOfItsOwn() {
        runner.withPropertyValues(
                        "lockkeeper.redis.quorum.nodes[0]=" + uri(masters.get(0)),
                        "lockkeeper.redis.quorum.nodes[1]=" + uri(masters.get(1)),
                        "lockkeeper.redis.quorum.nodes[2]=" + uri(masters.get(2)))
                .run(context -> assertThat(context).hasSingleBean(QuorumLockStore.class));
    }

    @Test
    void withoutTheModuleTheStartSaysWhatToAdd() {
        runner.withPropertyValues(nodes())
                .withClassLoader(new FilteredClassLoader("io.lockkeeper.quorum"))
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessage("lockkeeper.redis.quorum.nodes needs the module lock-quorum: add the dependency"
                                + " io.lockkeeper:lock-quorum."));
        runner.withClassLoader(new FilteredClassLoader("io.lockkeeper.quorum"))
                .withBean(MemoryLockStore.class)
                .run(context -> assertThat(context).hasSingleBean(LockTemplate.class));
    }

    @Test
    void aStoreOfTheApplicationComesFirst() {
        runner.withPropertyValues(nodes()).withBean(MemoryLockStore.class).run(context -> assertThat(context)
                .hasSingleBean(LockStore.class)
                .doesNotHaveBean(QuorumLockStore.class));
        runner.withPropertyValues(nodes(), "lockkeeper.store=memory")
                .run(context -> assertThat(context).hasSingleBean(MemoryLockStore.class));
    }

    @Test
    void withoutJedisTheStartFailsAndSaysWhatToAdd() {
        runner.withPropertyValues(nodes())
                .withClassLoader(new FilteredClassLoader("redis.clients.jedis"))
                .run(context -> {
                    FailureAnalysis analysis = new LockkeeperFailureAnalyzer().analyze(context.getStartupFailure());
                    assertThat(analysis.getDescription()).contains("Jedis is not on the class path");
                    assertThat(analysis.getAction()).contains("redis.clients:jedis");
                });
    }

    @Test
    void whatAQuorumCannotDoIsRefusedAtTheStart() {
        runner.withPropertyValues(nodes()).withBean(Jobs.class).run(context -> assertThat(context)
                .getFailure()
                .hasMessageContaining("nightly()")
                .hasMessageContaining("minimum hold time")
                .hasMessageContaining("at most the lease time of the template")
                .hasMessageContaining("read()")
                .hasMessageContaining("Mode READ"));
        runner.withPropertyValues("lockkeeper.store=memory")
                .withBean(Jobs.class)
                .run(context -> assertThat(context).hasNotFailed());
    }

    static class Jobs {

        @DistributedLocked(name = "nightly-report", skipWhenLocked = true, minHoldTime = "1m")
        public void nightly() {}

        @DistributedLocked(name = "report", mode = LockMode.READ)
        public void read() {}
    }

    private static boolean isGiven(LockTemplate template) {
        try (LockLease lease = template.acquire("a")) {
            return lease.isHeld();
        } catch (LockStoreException refused) {
            return false;
        }
    }
}
