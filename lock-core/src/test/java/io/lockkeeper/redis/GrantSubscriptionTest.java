/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.IgnoredMessages;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A subscription that has ended, whoever knows of that, is made anew. */
@Timeout(60)
class GrantSubscriptionTest {

    private static final Duration SHORT = Duration.ofSeconds(1);
    private static final Duration LONG = Duration.ofSeconds(50);

    private RedisServer server;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        server.command("ACL SETUSER locks on >old ~* &* +@all".split(" "));
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private void over(Connections driver, Duration silence, Scenario scenario) throws Exception {
        RedisConnectionFactory connections = driver.to(server.port(), "locks", "old");
        GrantSubscription subscription = new GrantSubscription(
                new Clients(connections, SHORT), new RedisNames("test"), "me", new IgnoredMessages(), () -> 0, silence);
        try {
            subscription.start();
            Awaitility.await().until(() -> subscription.since() != null);
            scenario.run(subscription, connections);
        } finally {
            subscription.close(SHORT);
            Connections.close(connections);
        }
    }

    private static boolean isLaterThan(Instant before, GrantSubscription subscription) {
        Instant since = subscription.since();
        return since != null && since.isAfter(before);
    }

    private interface Scenario {

        void run(GrantSubscription subscription, RedisConnectionFactory connections) throws Exception;
    }

    /** What lies in between may have forgotten the connection, or its node may have left the cluster. */
    @ParameterizedTest
    @EnumSource
    void oneThatIsSilentForTooLongIsMadeAnew(Connections driver) throws Exception {
        over(driver, SHORT, (subscription, connections) -> {
            Instant first = Objects.requireNonNull(subscription.since());
            Awaitility.await().until(() -> isLaterThan(first.plus(SHORT), subscription));
        });
    }

    @ParameterizedTest
    @EnumSource
    void oneThatHearsOfItselfStays(Connections driver) throws Exception {
        over(driver, SHORT, (subscription, connections) -> {
            Instant first = Objects.requireNonNull(subscription.since());
            Awaitility.await()
                    .pollInterval(Duration.ofMillis(200))
                    .during(SHORT.multipliedBy(3))
                    .until(() -> {
                        server.command("PUBLISH", "test:grants:me", "");
                        return first.equals(subscription.since());
                    });
        });
    }

    @ParameterizedTest
    @EnumSource
    void oneThatIsLostAgainAndAgainIsBackSoonEachTime(Connections driver) throws Exception {
        over(driver, LONG, (subscription, connections) -> {
            for (int i = 0; i < 10; i++) {
                Instant before = Objects.requireNonNull(subscription.since());
                server.command("CLIENT", "KILL", "TYPE", "pubsub");
                // The longest pause between two attempts is 5 s.
                Awaitility.await().atMost(Duration.ofSeconds(4)).until(() -> isLaterThan(before, subscription));
            }
        });
    }

    /** As it is where the application's own factory is stopped, set and started. */
    @ParameterizedTest
    @EnumSource
    void aPasswordThatHasChangedIsUsed(Connections driver) throws Exception {
        over(driver, SHORT, (subscription, connections) -> {
            server.command("ACL SETUSER locks <old >new".split(" "));
            Connections.restart(connections, "new");
            Instant begin = Instant.now();
            server.command("CLIENT", "KILL", "USER", "locks");
            Awaitility.await().until(() -> isLaterThan(begin, subscription));
        });
    }

    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aTemplateHearsOfItselfEveryFewSeconds(Connections driver) {
        RedisConnectionFactory connections = driver.to(server.port());
        try (LockTemplate template = template(connections)) {
            template.run("warm", lease -> {});
            Awaitility.await().until(() -> String.valueOf(server.command("CLIENT", "LIST"))
                    .contains(" sub=1 "));
            server.resetStatistics();
            Awaitility.await().atMost(Duration.ofSeconds(22)).untilAsserted(() -> assertThat(server.calls("publish"))
                    .isEqualTo(3));
        } finally {
            Connections.close(connections);
        }
    }

    /** A connection that seems to be there, and over which nothing comes: a lost grant costs no waiter half a minute. */
    @ParameterizedTest
    @EnumSource
    @Execution(ExecutionMode.CONCURRENT)
    void aChannelThatDeliversNothingIsMadeAnewWithinSeconds(Connections driver) throws Exception {
        RedisConnectionFactory direct = driver.to(server.port());
        try (FaultProxy network = FaultProxy.inFrontOf(server)) {
            RedisConnectionFactory connections = driver.to(network.port());
            try (LockTemplate holder = template(direct);
                    LockTemplate waiting = template(connections)) {
                LockLease held = holder.acquire("name");
                CompletableFuture<LockLease> next = waiting.acquireAsync(LockRequest.of("name"));
                Awaitility.await().until(() -> holder.inspector()
                        .status("name")
                        .filter(status -> status.waiters().size() == 1)
                        .isPresent());
                network.loseMessages(true);
                held.close();
                next.get(17, TimeUnit.SECONDS).close();
            } finally {
                Connections.close(connections);
            }
        } finally {
            Connections.close(direct);
        }
    }

    /** Waiters ask again so seldom that only a grant, or a new channel, serves them in time. */
    private static LockTemplate template(RedisConnectionFactory connections) {
        return LockTemplate.builder(new RedisLockStore(
                        connections, RedisLockStore.Options.defaults().withPollInterval(Duration.ofSeconds(30))))
                .build();
    }
}
