/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.autoconfigure.SwitchableStore;
import io.lockkeeper.autoconfigure.SwitchableStore.Part;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.GrantChannel;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** What makes locks healthy, and what does not. */
class LockHealthTest {

    private final SwitchableStore store = new SwitchableStore(new MemoryLockStore());
    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LockkeeperAutoConfiguration.class,
                    LockkeeperHealthAutoConfiguration.class,
                    LockkeeperEndpointAutoConfiguration.class))
            .withPropertyValues("lockkeeper.lease-time=1s", "lockkeeper.shutdown.wait=0");
    private final ApplicationContextRunner runner = application.withBean(SwitchableStore.class, () -> store);

    /** What an indicator says, whose types are others in each Spring Boot. */
    private record Health(String status, Map<?, ?> details) {}

    private static Health health(AssertableApplicationContext context) {
        Object indicator = context.getBean("lockkeeperHealthIndicator");
        Class<?> type = ClassUtils.resolveClassName(
                ClassUtils.isPresent(LockkeeperHealthAutoConfiguration.Boot3HealthConfiguration.TYPE, null)
                        ? LockkeeperHealthAutoConfiguration.Boot3HealthConfiguration.TYPE
                        : "org.springframework.boot.health.contributor.HealthIndicator",
                null);
        Object health = call(type, "health", indicator);
        return new Health(call(health.getClass(), "getStatus", health).toString(), (Map<?, ?>)
                call(health.getClass(), "getDetails", health));
    }

    private static Object call(Class<?> type, String method, Object target) {
        return ReflectionUtils.invokeMethod(ReflectionUtils.findMethod(type, method), target);
    }

    @Test
    void locksThatWorkAreUpAndNothingIsWritten() {
        runner.run(context -> {
            Map<?, ?> details = health(context).details();
            assertThat(details.get("lastRenewal")).isEqualTo("never");
            assertThat(details.get("failingRenewals")).isEqualTo(0);
            assertThat(health(context).status()).isEqualTo("UP");
            assertThat(details.get("grantsSince").toString()).endsWith("Z");
            assertThat(store.find("*", 10).join()).isEmpty();
            try (LockLease lease = context.getBean(LockTemplate.class).acquire("x")) {
                Awaitility.await().until(() -> health(context)
                        .details()
                        .get("lastRenewal")
                        .toString()
                        .endsWith("Z"));
                assertThat(health(context).details().get("held")).isEqualTo(1);
            }
        });
    }

    @Test
    void looksMakeNoTemplateWhereEachUseHasItsOwn() {
        AtomicInteger made = new AtomicInteger();
        application
                .withBean(
                        LockTemplate.class,
                        () -> {
                            made.incrementAndGet();
                            return LockTemplate.builder(new MemoryLockStore()).build();
                        },
                        definition -> definition.setScope("prototype"))
                .run(context -> {
                    assertThat(health(context).status()).isEqualTo("UP");
                    int before = made.get();
                    assertThat(health(context).status()).isEqualTo("UP");
                    assertThat(made).hasValue(before);
                });
    }

    @Test
    void aStoreThatDoesNotAnswerIsDown() {
        runner.run(context -> {
            store.switchOff(Part.LOOKS);
            assertThat(health(context).status()).isEqualTo("DOWN");
            assertThat(health(context).details().get("store").toString()).contains("no answer");
        });
    }

    @Test
    void aStoreThatThrowsSomethingElseIsDown() {
        runner.run(context -> {
            store.switchOff(Part.BROKEN_LOOKS);
            assertThat(health(context).status()).isEqualTo("DOWN");
            assertThat(health(context).details().get("store")).isEqualTo("java.lang.UnsupportedOperationException");
        });
    }

    @Test
    void aStoreWhoseGrantChannelCannotBeLookedAtIsDown() {
        AtomicBoolean isBroken = new AtomicBoolean();
        SwitchableStore refusing = new SwitchableStore(new MemoryLockStore()) {
            @Override
            public GrantChannel grantChannel() {
                if (isBroken.get()) {
                    throw new IllegalStateException("no channel");
                }
                return super.grantChannel();
            }
        };
        application.withBean(SwitchableStore.class, () -> refusing).run(context -> {
            assertThat(health(context).status()).isEqualTo("UP");
            isBroken.set(true);
            assertThat(health(context).status()).isEqualTo("DOWN");
            assertThat(health(context).details().get("store")).isEqualTo("no channel");
            assertThat(health(context).details().get("held")).isEqualTo(0);
        });
    }

    @Test
    void renewalsThatFailAreDownUntilTheyWorkAgain() {
        // Long enough to be seen between the first failure and the loss, on a busy machine too.
        runner.withPropertyValues("lockkeeper.lease-time=6s").run(context -> {
            store.switchOff(Part.RENEWALS);
            LockLease lease = context.getBean(LockTemplate.class).acquire("x");
            Awaitility.await().until(() -> health(context).status().equals("DOWN"));
            assertThat(health(context).details().get("failingRenewals")).isEqualTo(1);
            lease.close();
            assertThat(health(context).status()).isEqualTo("UP");
        });
    }

    @Test
    void aRenewalThatFailsAfterItsHoldWasReleasedCountsForNothing() {
        RenewalGate gate = new RenewalGate();
        gate.in(runner).withPropertyValues("lockkeeper.lease-time=6s").run(context -> {
            LockTemplate locks = context.getBean(LockTemplate.class);
            store.switchOff(Part.RENEWALS);
            LockLease lease = locks.acquire("x");
            gate.awaitFailure();
            lease.close();
            gate.open();
            assertThat(health(context).details().get("failingRenewals")).isEqualTo(0);
            assertThat(health(context).status()).isEqualTo("UP");
        });
    }

    @Test
    void aRenewalThatFailedCountsForNothingInTheNextHoldOfTheSameLock() {
        RenewalGate gate = new RenewalGate();
        gate.in(runner).withPropertyValues("lockkeeper.lease-time=12s").run(context -> {
            LockTemplate locks = context.getBean(LockTemplate.class);
            store.switchOff(Part.RENEWALS);
            LockLease lease = locks.acquire("x");
            gate.awaitFailure();
            lease.close();
            try (LockLease next = locks.acquire("x")) {
                gate.open();
                assertThat(next.isHeld()).isTrue();
                assertThat(health(context).details().get("held")).isEqualTo(1);
                assertThat(health(context).status()).isEqualTo("UP");
            }
        });
    }

    @Test
    void anOutageThatIsOverLeavesNothingBehind() {
        RenewalGate gate = new RenewalGate();
        try (RedisServer redis = RedisServer.start();
                FaultProxy network = FaultProxy.inFrontOf(redis)) {
            gate.in(application)
                    // A third of the lease is the longest that a command may take, on a busy machine too.
                    .withPropertyValues("lockkeeper.store=redis", "lockkeeper.lease-time=6s")
                    .withBean(
                            RedisConnectionFactory.class,
                            () -> new JedisConnectionFactory(
                                    new RedisStandaloneConfiguration(network.host(), network.port())))
                    .run(context -> {
                        // The first connection loads many classes, and may take longer than a command.
                        awaitUp(context);
                        LockLease lease = context.getBean(LockTemplate.class).acquire("x");
                        network.when(any -> true).cutReply();
                        gate.awaitFailure();
                        network.clear();
                        lease.close();
                        gate.open();
                        assertThat(health(context).details().get("failingRenewals"))
                                .isEqualTo(0);
                        awaitUp(context);
                    });
        }
    }

    private static void awaitUp(AssertableApplicationContext context) {
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .until(() -> health(context).status().equals("UP"));
    }

    @Test
    void eachHoldWhoseRenewalsFailCounts() {
        runner.withPropertyValues("lockkeeper.lease-time=6s").run(context -> {
            LockTemplate locks = context.getBean(LockTemplate.class);
            store.switchOff(Part.RENEWALS);
            LockLease both = locks.acquire(LockRequest.of("x", "y"));
            LockLease other = locks.acquire("z");
            Awaitility.await()
                    .until(() ->
                            health(context).details().get("failingRenewals").equals(2));
            both.close();
            assertThat(health(context).details().get("failingRenewals")).isEqualTo(1);
            other.close();
            assertThat(health(context).status()).isEqualTo("UP");
        });
    }

    @Test
    void grantsThatDoNotArriveAreOutOfService() {
        runner.run(context -> {
            store.switchOff(Part.GRANTS);
            assertThat(health(context).status()).isEqualTo("OUT_OF_SERVICE");
            assertThat(health(context).details().get("grantsSince")).isEqualTo("not now");
        });
    }

    @Test
    void itCanBeSwitchedOff() {
        ApplicationContextRunner unlocked = runner.withPropertyValues("lockkeeper.enabled=false");
        unlocked.withPropertyValues("management.health.lockkeeper.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("lockkeeperHealthIndicator"));
        unlocked.withPropertyValues("management.health.defaults.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("lockkeeperHealthIndicator"));
        unlocked.withPropertyValues(
                        "management.health.defaults.enabled=false", "management.health.lockkeeper.enabled=true")
                .run(context -> assertThat(context).hasBean("lockkeeperHealthIndicator"));
    }

    @Test
    void withoutTheActuatorEverythingWorks() {
        runner.withClassLoader(
                        new FilteredClassLoader("org.springframework.boot.actuate", "org.springframework.boot.health"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean("lockkeeperHealthIndicator")
                        .doesNotHaveBean("lockkeeperHealth")
                        .doesNotHaveBean(LockkeeperHealthAutoConfiguration.class)
                        .doesNotHaveBean("locksEndpoint"));
    }

    @Test
    void withoutLockingItIsUp() {
        runner.withPropertyValues("lockkeeper.enabled=false")
                .run(context -> assertThat(health(context).status()).isEqualTo("UP"));
    }
}
