/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.actuate.LockkeeperEndpointAutoConfiguration;
import io.lockkeeper.autoconfigure.actuate.LockkeeperHealthAutoConfiguration;
import io.lockkeeper.autoconfigure.actuate.LocksEndpoint;
import io.lockkeeper.autoconfigure.observation.LockkeeperObservationAutoConfiguration;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.RedisServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.ClassUtils;

class LockkeeperAutoConfigurationTest {

    private final ApplicationContextRunner runner =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class));

    @Test
    void aTemplateInMemoryIsThereWhenAskedFor() {
        runner.withPropertyValues("lockkeeper.store=memory").run(context -> {
            assertThat(context).hasSingleBean(LockTemplate.class).hasSingleBean(MemoryLockStore.class);
            assertThat(context.getBean(LockOperations.class).tryRun("a", lease -> {}))
                    .isTrue();
        });
    }

    @Test
    void withoutAStoreTheStartFailsAndSaysWhatToAdd() {
        runner.run(context -> assertThat(analysis(context.getStartupFailure())).satisfies(analysis -> {
            assertThat(analysis.getDescription()).contains("there is no RedisConnectionFactory bean");
            assertThat(analysis.getAction()).contains("spring.data.redis.host", "lockkeeper.store=memory");
        }));
    }

    @Test
    void withoutSpringDataRedisTheStartFailsAndSaysWhatToAdd() {
        runner.withClassLoader(new FilteredClassLoader(RedisConnectionFactory.class))
                .run(context -> assertThat(analysis(context.getStartupFailure()))
                        .satisfies(analysis -> {
                            assertThat(analysis.getDescription())
                                    .contains("spring-data-redis is not on the class path");
                            assertThat(analysis.getAction()).contains("spring-boot-starter-data-redis");
                        }));
    }

    /** Classes of applications have such names, and Spring names their beans after them. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "lockInspector",
                "lockingSummary",
                "lockTemplateShutdown",
                "lockHealth",
                "lockMetrics",
                "flightRecorderListener",
                "memoryLockStore",
                "redisLockStore"
            })
    void aBeanOfTheApplicationMayHaveTheName(String name) {
        runner.withConfiguration(AutoConfigurations.of(
                        LockkeeperEndpointAutoConfiguration.class,
                        LockkeeperHealthAutoConfiguration.class,
                        LockkeeperObservationAutoConfiguration.class))
                .withPropertyValues("lockkeeper.store=memory", "management.endpoints.web.exposure.include=locks")
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .withBean(name, StringBuilder.class)
                .run(context -> {
                    assertThat(context)
                            .hasNotFailed()
                            .hasSingleBean(LockInspector.class)
                            .hasSingleBean(LocksEndpoint.class)
                            .hasBean("lockkeeperHealthIndicator");
                    LockTemplate template = context.getBean(LockTemplate.class);
                    try (LockLease lease = template.acquire("a")) {
                        assertThat(context.getBean(LockInspector.class).heldHere())
                                .extracting(LockStatus::name)
                                .containsExactly(lease.name());
                    }
                });
    }

    @Test
    void oneOfSeveralConnectionFactoriesMustBeNamed() {
        ApplicationContextRunner two = withFactory(withFactory(runner, "orders"), "sessions");
        two.run(context -> assertThat(analysis(context.getStartupFailure())).satisfies(analysis -> {
            assertThat(analysis.getDescription()).contains("several", "orders", "sessions");
            assertThat(analysis.getAction()).contains("lockkeeper.redis.connection-factory");
        }));
        two.withPropertyValues("lockkeeper.redis.connection-factory=wrong")
                .run(context -> assertThat(analysis(context.getStartupFailure()).getDescription())
                        .contains("'wrong'", "no RedisConnectionFactory bean of this name"));
        two.withInitializer(context -> context.getBeanFactory().registerAlias("orders", "alsoOrders"))
                .withPropertyValues("lockkeeper.redis.connection-factory=alsoOrders")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(RedisLockStore.class));
        two.withPropertyValues("lockkeeper.redis.connection-factory=orders")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(RedisLockStore.class));
    }

    @Test
    void aTemplateOverRedisIsThereWhenThereIsOneConnectionFactory() {
        try (RedisServer redis = RedisServer.start()) {
            runner.withConfiguration(AutoConfigurations.of(redisAutoConfiguration()))
                    // The first connection loads many classes, for which a busy machine may need more than 2 s.
                    .withPropertyValues(
                            "spring.data.redis.port=" + redis.port(),
                            "lockkeeper.key-prefix=shop",
                            "lockkeeper.redis.command-timeout=10s")
                    .run(context -> {
                        assertThat(context).hasSingleBean(RedisLockStore.class);
                        LockTemplate template = context.getBean(LockTemplate.class);
                        assertThat(template.tryRun("a", lease -> {})).isTrue();
                    });
        }
    }

    @Test
    void whenAUserProvidesLockOperationsTheAutoConfiguredTemplateBacksOff() {
        LockOperations own = mock(LockOperations.class);
        runner.withBean(LockOperations.class, () -> own).run(context -> {
            assertThat(context.getBean(LockOperations.class)).isSameAs(own);
            assertThat(context).doesNotHaveBean(LockTemplate.class).doesNotHaveBean(LockStore.class);
        });
    }

    @Test
    void whenAUserProvidesAStoreTheAutoConfiguredStoreBacksOff() {
        MemoryLockStore own = new MemoryLockStore();
        runner.withBean(LockStore.class, () -> own).run(context -> assertThat(context)
                .hasSingleBean(LockTemplate.class)
                .getBean(LockStore.class)
                .isSameAs(own));
    }

    @Test
    void whenSwitchedOffEverythingRunsUnlocked() {
        runner.withPropertyValues("lockkeeper.enabled=false").run(context -> {
            assertThat(context).hasNotFailed().doesNotHaveBean(LockStore.class);
            LockTemplate unlocked = context.getBean(LockTemplate.class);
            unlocked.run("a", lease -> assertThat(unlocked.tryAcquire("a")).isPresent());
            assertThat(context.getBean(LockInspector.class).heldHere()).isEmpty();
        });
    }

    @Test
    void listenersHearWhatTheTemplateDoes() {
        List<Object> heard = new ArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void onAcquired(Acquired event) {
                heard.add(event);
            }
        };
        runner.withPropertyValues("lockkeeper.store=memory", "lockkeeper.wait-time=7s")
                .withBean(LockListener.class, () -> listener)
                .run(context -> {
                    context.getBean(LockTemplate.class).run("a", lease -> {});
                    assertThat(heard)
                            .singleElement()
                            .isInstanceOfSatisfying(LockListener.Acquired.class, event -> assertThat(
                                            event.request().waitTime())
                                    .isEqualTo(Duration.ofSeconds(7)));
                });
    }

    private static ApplicationContextRunner withFactory(ApplicationContextRunner runner, String name) {
        return runner.withBean(name, RedisConnectionFactory.class, () -> mock(RedisConnectionFactory.class));
    }

    /** Returns that of Spring Boot, whose name differs in 3.5 and 4. */
    static Class<?> redisAutoConfiguration() {
        String newer = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration";
        String older = "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration";
        return ClassUtils.resolveClassName(ClassUtils.isPresent(newer, null) ? newer : older, null);
    }

    private static FailureAnalysis analysis(Throwable failure) {
        return new LockkeeperFailureAnalyzer().analyze(failure);
    }
}
