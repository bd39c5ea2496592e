/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.actuate.LockkeeperEndpointAutoConfiguration;
import io.lockkeeper.autoconfigure.actuate.LocksEndpoint;
import io.lockkeeper.autoconfigure.observation.LockkeeperObservationAutoConfiguration;
import io.lockkeeper.interceptor.LogRecorder;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.RedisServer;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * The properties that choose whether and how methods are locked. Each spelling that binds does what it says, and any
 * other one is refused: neither leaves a method without its lock.
 */
class SwitchesTest {

    private static final String SAYS_THAT_NOTHING_IS_LOCKED =
            "WARN Locking is switched off by lockkeeper.enabled=false";

    private static RedisServer redis;

    private final LogRecorder log = new LogRecorder(LockkeeperAutoConfiguration.class);

    private final ApplicationContextRunner bare = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.wait-time=0s")
            .withBean(Shop.class);

    private final ApplicationContextRunner inMemory = bare.withPropertyValues("lockkeeper.store=memory");

    @BeforeAll
    static void start() {
        redis = RedisServer.start();
    }

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "proxy",
                "PROXY",
                "Proxy",
                " proxy",
                "proxy ",
                "\tproxy",
                "pro-xy",
                "\"proxy\"",
                "${unset:}"
            })
    void everySpellingOfProxyAndNoneAtAllLocksByProxies(String mode) {
        with(inMemory, "lockkeeper.mode", mode).run(SwitchesTest::isLocked);
    }

    @ParameterizedTest
    @ValueSource(strings = {"aspectj", "ASPECTJ", "AspectJ", "aspect-j", "aspect_j", " aspectj", "aspectj "})
    void everySpellingOfAspectjAsksForTheWeaver(String mode) {
        with(inMemory, "lockkeeper.mode", mode).run(context -> {
            FailureAnalysis analysis = analysis(context);
            assertThat(analysis.getDescription())
                    .contains("lockkeeper.mode is aspectj", "the AspectJ weaver does not run");
            assertThat(analysis.getAction()).contains("-javaagent:aspectjweaver.jar");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "true", "TRUE", "true ", " true", "on", "On", "yes", "1", "${unset:}"})
    void everySpellingOfTrueAndNoneAtAllLocks(String enabled) {
        with(inMemory, "lockkeeper.enabled", enabled).run(SwitchesTest::isLocked);
        assertThat(log.lines()).noneMatch(line -> line.startsWith(SAYS_THAT_NOTHING_IS_LOCKED));
    }

    @ParameterizedTest
    @ValueSource(strings = {"false", "FALSE", "false ", " false", "off", "Off", "no", "0"})
    void everySpellingOfFalseLocksNothingAndSaysSo(String enabled) {
        with(bare, "lockkeeper.enabled", enabled).run(SwitchesTest::isUnlocked);
        assertThat(log.lines()).anyMatch(line -> line.startsWith(SAYS_THAT_NOTHING_IS_LOCKED));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"spring.main.lazy-initialization=true", "lockkeeper.mode=aspectj", "lockkeeper.store=redis"})
    void whereNothingShallBeLockedNothingIsNeededForIt(String property) {
        with(bare, "lockkeeper.enabled", "false").withPropertyValues(property).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.lines()).anyMatch(line -> line.startsWith(SAYS_THAT_NOTHING_IS_LOCKED));
            isUnlocked(context);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"memory", "MEMORY", "Memory", " memory", "memory ", "mem-ory"})
    void everySpellingOfMemoryLocksInMemory(String store) {
        with(bare, "lockkeeper.store", store).run(context -> {
            isLocked(context);
            assertThat(context.getBean(LockStore.class)).isInstanceOf(MemoryLockStore.class);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "redis", "REDIS", "Redis", " redis", "redis ", "re-dis", "${unset:}"})
    void everySpellingOfRedisAndNoneAtAllLocksInRedis(String store) {
        with(bare, "lockkeeper.store", store)
                .withBean(
                        RedisConnectionFactory.class,
                        () -> new JedisConnectionFactory(new RedisStandaloneConfiguration(redis.host(), redis.port())))
                .run(context -> {
                    isLocked(context);
                    assertThat(context.getBean(LockStore.class)).isInstanceOf(RedisLockStore.class);
                });
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "redis", "re-dis", " Redis "})
    void aStoreThatIsMissingIsRefusedWithTheTrueReason(String store) {
        with(bare, "lockkeeper.store", store)
                .run(context -> assertThat(analysis(context).getDescription())
                        .contains("there is no RedisConnectionFactory bean"));
        with(bare, "lockkeeper.store", store)
                .withClassLoader(new FilteredClassLoader(RedisConnectionFactory.class))
                .run(context -> assertThat(analysis(context).getDescription())
                        .contains("spring-data-redis is not on the class path")
                        .satisfies(reason -> assertThat(reason.contains("lockkeeper.store is redis"))
                                .isEqualTo(!store.isBlank())));
    }

    @ParameterizedTest
    @CsvSource({
        "mode, proxies",
        "mode, none",
        "mode, aspect",
        "mode, 'proxy,aspectj'",
        "enabled, disabled",
        "enabled, 2",
        "enabled, tru",
        "store, rediss",
        "store, memory-only",
        "store, none"
    })
    void whatMeansNothingIsRefused(String property, String value) {
        with(inMemory, "lockkeeper." + property, value).run(context -> {
            FailureAnalysis analysis = analysis(context);
            assertThat(analysis.getDescription())
                    .contains("Property: lockkeeper." + property, "Value: \"" + value + "\"", "failed to convert");
            assertThat(analysis.getAction()).contains("Update your application's configuration");
        });
    }

    @ParameterizedTest
    @CsvSource({"on, true", "'yes ', true", "'', true", "off, false", "0, false"})
    void observationsAreSwitchedInEverySpelling(String enabled, boolean observed) {
        with(inMemory, "lockkeeper.observations.enabled", enabled)
                .withConfiguration(AutoConfigurations.of(LockkeeperObservationAutoConfiguration.class))
                .withBean(ObservationRegistry.class, ObservationRegistry::create)
                .run(context ->
                        assertThat(context.containsBean("lockObservations")).isEqualTo(observed));
    }

    @ParameterizedTest
    @CsvSource({"on, true", "'true ', true", "'', false", "off, false", "no, false"})
    void forcedReleasesAreSwitchedInEverySpelling(String enabled, boolean forcible) {
        with(inMemory, "lockkeeper.actuator.force-release.enabled", enabled)
                .withPropertyValues("management.endpoints.web.exposure.include=locks")
                .withConfiguration(AutoConfigurations.of(LockkeeperEndpointAutoConfiguration.class))
                .run(context -> {
                    LocksEndpoint endpoint = context.getBean(LocksEndpoint.class);
                    if (forcible) {
                        assertThat(endpoint.forceRelease("stock").released()).isFalse();
                    } else {
                        assertThatThrownBy(() -> endpoint.forceRelease("stock"))
                                .hasMessageContaining("set lockkeeper.actuator.force-release.enabled=true");
                    }
                });
    }

    @Test
    void valuesOfTheEnvironmentMeanTheSame() {
        withVariable(inMemory, "LOCKKEEPER_MODE", "").run(SwitchesTest::isLocked);
        withVariable(inMemory, "LOCKKEEPER_MODE", "aspect-j")
                .run(context -> assertThat(analysis(context).getDescription()).contains("lockkeeper.mode is aspectj"));
        withVariable(bare, "LOCKKEEPER_STORE", "Memory ").run(SwitchesTest::isLocked);
        withVariable(inMemory, "LOCKKEEPER_ENABLED", "").run(SwitchesTest::isLocked);
        assertThat(log.lines()).noneMatch(line -> line.startsWith(SAYS_THAT_NOTHING_IS_LOCKED));
        withVariable(bare, "LOCKKEEPER_ENABLED", "off").run(SwitchesTest::isUnlocked);
    }

    @Test
    void aChildIsSwitchedOffAloneAndSaysSo() {
        inMemory.run(parent -> {
            assertThat(log.lines()).noneMatch(line -> line.startsWith(SAYS_THAT_NOTHING_IS_LOCKED));
            ApplicationContextRunner child =
                    with(bare, "lockkeeper.enabled", "false").withParent(parent);
            child.withBean(Using.class).run(context -> {
                isUnlocked(context);
                assertThat(log.lines())
                        .filteredOn(line -> line.startsWith(SAYS_THAT_NOTHING_IS_LOCKED))
                        .hasSize(1);
                try (LockLease above = parent.getBean(LockTemplate.class).acquire("stock")) {
                    assertThat(context.getBean(Shop.class).sell()).isEqualTo("sold");
                    assertThat(above.isHeld()).isTrue();
                    assertThat(context.getBean(Using.class).inspector().status("stock"))
                            .isEmpty();
                }
            });
            isLocked(parent);
        });
    }

    @Test
    void aChildIsSwitchedOnUnderAParentThatIsNot() {
        bare.withPropertyValues("lockkeeper.enabled=false").run(parent -> {
            with(inMemory, "lockkeeper.enabled", "true")
                    .withParent(parent)
                    .withBean(Using.class)
                    .run(SwitchesTest::isLocked);
            isUnlocked(parent);
            log.close();
            try (LogRecorder ofChild = new LogRecorder(LockkeeperAutoConfiguration.class)) {
                bare.withParent(parent).run(SwitchesTest::isUnlocked);
                assertThat(ofChild.lines()).isEmpty();
            }
        });
    }

    @Test
    void aChildBelowAParentThatIsSwitchedOffLocksAsTheContextAboveThat() {
        inMemory.run(above -> {
            with(bare, "lockkeeper.enabled", "false").withParent(above).run(parent -> {
                isUnlocked(parent);
                ApplicationContextRunner child = with(inMemory, "lockkeeper.enabled", "true")
                        .withParent(parent)
                        .withBean(Using.class);
                child.run(context -> {
                    isLocked(context);
                    try (LockLease lease = above.getBean(LockTemplate.class).acquire("stock")) {
                        assertThatExceptionOfType(LockNotAcquiredException.class)
                                .isThrownBy(context.getBean(Shop.class)::sell);
                        assertThat(context.getBean(Using.class).inspector().status("stock"))
                                .isPresent();
                        assertThat(lease.isHeld()).isTrue();
                    }
                });
            });
            isLocked(above);
            assertThat(log.lines())
                    .filteredOn(line -> line.startsWith("INFO"))
                    .satisfiesExactly(
                            first -> assertThat(first).startsWith("INFO Locks are kept in the memory"),
                            second -> assertThat(second)
                                    .startsWith("INFO The bean 'lockTemplate' of a parent context locks in the place of"
                                            + " a LockTemplate of this one: the memory"));
        });
    }

    @Test
    void aTemplateOfTheApplicationGoesOnLockingForAChildThatIsSwitchedOff() {
        bare.withPropertyValues("lockkeeper.enabled=false")
                .withBean("own", LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                        .waitTime(Duration.ZERO)
                        .build())
                .run(parent -> bare.withParent(parent).run(SwitchesTest::isLocked));
    }

    @Test
    void aTemplateOfTheParentThatIsForNamedUseAloneLocksNothingOfAChild() {
        new ApplicationContextRunner()
                .withBean(
                        "audit",
                        LockTemplate.class,
                        () -> LockTemplate.builder(new MemoryLockStore()).build(),
                        bean -> ((AbstractBeanDefinition) bean).setDefaultCandidate(false))
                .run(parent -> inMemory.withParent(parent).run(context -> {
                    isLocked(context);
                    assertThat(context.containsLocalBean("lockTemplate")).isTrue();
                }));
    }

    record Using(LockTemplate template, LockOperations operations, LockInspector inspector) {}

    private static ApplicationContextRunner with(ApplicationContextRunner runner, String name, String value) {
        return runner.withInitializer(context -> context.getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource(name, Map.of(name, value))));
    }

    private static ApplicationContextRunner withVariable(ApplicationContextRunner runner, String name, String value) {
        return runner.withInitializer(context -> context.getEnvironment()
                .getPropertySources()
                .addFirst(new SystemEnvironmentPropertySource(
                        name.toLowerCase(Locale.ROOT) + "-systemEnvironment", Map.of(name, value))));
    }

    private static void isLocked(AssertableApplicationContext context) {
        assertThat(context).hasNotFailed();
        Shop shop = context.getBean(Shop.class);
        assertThat(shop.sell()).isEqualTo("sold");
        try (LockLease elsewhere = context.getBean(LockTemplate.class).acquire("stock")) {
            assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(shop::sell);
            assertThat(elsewhere.isHeld()).isTrue();
        }
    }

    private static void isUnlocked(AssertableApplicationContext context) {
        assertThat(context).hasNotFailed();
        try (LockLease elsewhere = context.getBean(LockTemplate.class).acquire("stock")) {
            assertThat(context.getBean(Shop.class).sell()).isEqualTo("sold");
            assertThat(elsewhere.isHeld()).isTrue();
        }
    }

    private static FailureAnalysis analysis(AssertableApplicationContext context) {
        assertThat(context).hasFailed();
        return StartupFailure.analyze(context.getStartupFailure());
    }

    public static class Shop {
        @DistributedLocked("stock")
        public String sell() {
            return "sold";
        }
    }
}
