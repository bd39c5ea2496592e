/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.interceptor.LogRecorder;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.AdditionalAnswers;
import org.mockito.Answers;
import org.mockito.Mockito;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanNameGenerator;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.AnnotationConfigUtils;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** What the start says of what locks. */
class LockingSummaryTest {

    private static final String INSTEAD =
            "INFO The bean 'own' of the application locks in the place of Lockkeeper's own LockTemplate: ";
    private static final String METHODS = "; 2 methods with @DistributedLocked";

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withBean(Shop.class);

    @Test
    void storeServerPrefixLeaseAndMethodsAreOneLine() {
        try (RedisServer redis = RedisServer.start()) {
            assertThat(said(application
                            .withBean(RedisConnectionFactory.class, () -> redis(redis.port()))
                            .withPropertyValues("lockkeeper.key-prefix=shop", "lockkeeper.lease-time=20s")))
                    .containsExactly("INFO Locks are kept in Redis at 127.0.0.1:" + redis.port()
                            + ", key prefix 'shop', lease 20s" + METHODS);
        }
    }

    @Test
    void theMemoryOfTheProcessIsNamed() {
        assertThat(said(application.withPropertyValues("lockkeeper.store=memory", "lockkeeper.lease-time=1500ms")))
                .containsExactly("INFO Locks are kept in the memory of this process, lease 1500ms" + METHODS);
    }

    @Test
    void nothingIsMadeForTheLine() {
        assertThat(said(application.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))))
                .containsExactly(
                        "INFO The store of locks (lockkeeper.store=redis, key prefix 'lockkeeper') is opened at its first"
                                + " use, because the bean 'lockTemplate' is lazy, lease 30s" + METHODS);
    }

    @Test
    void whereLockingIsOffNoLineSaysThatItIsOn() {
        assertThat(said(application.withPropertyValues("lockkeeper.enabled=false")))
                .singleElement()
                .asString()
                .startsWith("WARN Locking is switched off");
    }

    @Test
    void aTemplateOfTheApplicationIsNamed() {
        assertThat(said(inMemory())).containsExactly(INSTEAD + "the memory of this process, lease 30s" + METHODS);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lockkeeperTemplate", "lockkeeperUnlocked"})
    void aTemplateOfTheApplicationMayHaveAnyName(String name) {
        assertThat(said(application.withBean(name, LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                        .build())))
                .containsExactly(
                        INSTEAD.replace("'own'", "'" + name + "'") + "the memory of this process, lease 30s" + METHODS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void otherBeansMayHaveAnyName(boolean enabled) {
        said(application
                .withPropertyValues("lockkeeper.store=memory", "lockkeeper.enabled=" + enabled)
                .withBean("lockkeeperTemplate", StringBuilder.class)
                .withBean("lockkeeperUnlocked", StringBuilder.class));
    }

    @Test
    void beansMayBeNamedByTheirClasses() {
        BeanNameGenerator generator = (definition, registry) -> String.valueOf(definition.getBeanClassName());
        ApplicationContextRunner inMemory = application
                .withPropertyValues("lockkeeper.store=memory")
                .withInitializer(context -> context.getBeanFactory()
                        .registerSingleton(AnnotationConfigUtils.CONFIGURATION_BEAN_NAME_GENERATOR, generator));
        assertThat(said(inMemory)).singleElement().asString().startsWith("INFO Locks are kept in the memory");
        assertThat(said(inMemory.withPropertyValues("lockkeeper.enabled=false")))
                .singleElement()
                .asString()
                .startsWith("WARN Locking is switched off");
    }

    @Test
    void eachOfSeveralTemplatesHasItsNameStoreLeaseAndMethods() {
        assertThat(said(application
                        .withPropertyValues("lockkeeper.store=memory")
                        .withBean(
                                "second",
                                LockTemplate.class,
                                () -> LockTemplate.builder(new MemoryLockStore())
                                        .leaseTime(Duration.ofSeconds(5))
                                        .build(),
                                definition -> ((AbstractBeanDefinition) definition).setDefaultCandidate(false))))
                .containsExactlyInAnyOrder(
                        "INFO The bean 'lockTemplate' keeps locks in the memory of this process, lease 30s" + METHODS,
                        "INFO The bean 'second' of the application keeps locks in the memory of this process, lease 5s;"
                                + " 0 methods with @DistributedLocked");
    }

    @Test
    void aTemplateOfAParentContextIsNamed() {
        String above = "INFO The bean 'above' of a parent context locks in the place of a LockTemplate of this one: the"
                + " memory of this process, lease 30s" + METHODS;
        try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext()) {
            parent.registerBean("above", LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                    .build());
            parent.refresh();
            ApplicationContextRunner child = application.withParent(parent);
            assertThat(said(child)).containsExactly(above);
            assertThat(said(child.withBean(RedisConnectionFactory.class, () -> redis(1))))
                    .hasSize(2)
                    .contains(above)
                    .anyMatch(line -> line.startsWith("WARN The bean 'above' keeps locks in the memory"));
        }
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
                .withPropertyValues("lockkeeper.store=memory")
                .run(parent -> assertThat(
                                said(application.withParent(parent).withPropertyValues("lockkeeper.store=memory")))
                        .containsExactly(above.replace("above", "lockTemplate")));
    }

    @Test
    void aTemplateOfAChildIsNamedThoughLockingIsSwitchedOffInTheParent() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
                .withPropertyValues("lockkeeper.enabled=false")
                .run(parent -> {
                    assertThat(said(inMemory().withParent(parent)))
                            .containsExactly(INSTEAD + "the memory of this process, lease 30s" + METHODS);
                    assertThat(said(application.withParent(parent))).isEmpty();
                });
    }

    @Test
    void aLazyTemplateOfAParentIsNamedAtItsFirstUseAndKeepsNoClosedChild() {
        try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext();
                LogRecorder log = new LogRecorder(LockkeeperAutoConfiguration.class)) {
            parent.registerBean(
                    "above",
                    LockTemplate.class,
                    LockTemplate::withoutLocking,
                    definition -> definition.setLazyInit(true));
            parent.refresh();
            List<BeanPostProcessor> before =
                    List.copyOf(parent.getDefaultListableBeanFactory().getBeanPostProcessors());
            ApplicationContextRunner child = application
                    .withParent(parent)
                    .withInitializer(context ->
                            context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()));
            child.run(context -> assertThat(log.lines()).hasSize(1));
            assertThat(parent.getDefaultListableBeanFactory().getBeanPostProcessors())
                    .isEqualTo(before);
            child.run(context -> {
                context.getBean(LockTemplate.class);
                assertThat(log.lines())
                        .filteredOn(line -> line.startsWith("WARN The bean 'above' of the application runs everything"))
                        .hasSize(1);
            });
        }
    }

    @Test
    void aTemplateInMemoryInThePlaceOfRedisIsAWarning() {
        ApplicationContextRunner both = inMemory().withBean(RedisConnectionFactory.class, () -> redis(1));
        assertThat(said(both))
                .containsExactly(
                        INSTEAD + "the memory of this process, lease 30s" + METHODS,
                        "WARN The bean 'own' keeps locks in the memory of this process although Redis is configured: other"
                                + " instances do not see them. Remove the LockTemplate bean of the application, build it"
                                + " over a RedisLockStore, or set lockkeeper.store=memory if this is meant");
        assertThat(said(both.withPropertyValues("lockkeeper.store=memory"))).hasSize(1);
        try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext()) {
            parent.registerBean(RedisConnectionFactory.class, () -> redis(1));
            parent.refresh();
            assertThat(said(inMemory().withParent(parent)))
                    .hasSize(2)
                    .anyMatch(line -> line.startsWith("WARN The bean 'own' keeps locks in the memory of this process"));
        }
    }

    @Test
    void aTemplateOfTheApplicationOverRedisIsNoWarning() {
        try (RedisServer redis = RedisServer.start()) {
            RedisConnectionFactory connections = redis(redis.port());
            assertThat(said(application
                            .withBean(RedisConnectionFactory.class, () -> connections)
                            .withBean("own", LockTemplate.class, () -> LockTemplate.builder(
                                            new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                                    .build())))
                    .containsExactly(INSTEAD + "Redis at 127.0.0.1:" + redis.port()
                            + ", key prefix 'lockkeeper', lease 30s" + METHODS);
        }
    }

    @Test
    void aTemplateInMemoryBesideOneOverRedisIsAWarningWhereItIsTheDefaultOne() {
        try (RedisServer redis = RedisServer.start()) {
            RedisConnectionFactory connections = redis(redis.port());
            ApplicationContextRunner shared = application.withBean(RedisConnectionFactory.class, () -> connections);
            Supplier<LockTemplate> overRedis =
                    () -> LockTemplate.builder(new RedisLockStore(connections, RedisLockStore.Options.defaults()))
                            .build();
            Supplier<LockTemplate> inMemory =
                    () -> LockTemplate.builder(new MemoryLockStore()).build();
            BeanDefinitionCustomizer primary = definition -> definition.setPrimary(true);
            BeanDefinitionCustomizer named =
                    definition -> ((AbstractBeanDefinition) definition).setDefaultCandidate(false);
            ApplicationContextRunner primaryShared = shared.withBean("shared", LockTemplate.class, overRedis, primary);
            assertThat(said(primaryShared.withBean("own", LockTemplate.class, inMemory)))
                    .hasSize(2)
                    .allMatch(line -> line.startsWith("INFO"));
            assertThat(said(shared.withBean("own", LockTemplate.class, inMemory, named)))
                    .hasSize(2)
                    .allMatch(line -> line.startsWith("INFO"));
            String warning = "WARN The bean 'own' keeps locks in the memory of this process";
            assertThat(said(shared.withBean("shared", LockTemplate.class, overRedis)
                            .withBean("own", LockTemplate.class, inMemory, primary)))
                    .filteredOn(line -> line.startsWith(warning))
                    .hasSize(1);
            assertThat(said(shared.withBean("shared", LockTemplate.class, overRedis, named)
                            .withBean("own", LockTemplate.class, inMemory)))
                    .filteredOn(line -> line.startsWith(warning))
                    .hasSize(1);
            assertThat(said(shared.withBean("other", LockTemplate.class, inMemory, primary)
                            .withBean("own", LockTemplate.class, inMemory)))
                    .filteredOn(line -> line.startsWith(warning))
                    .hasSize(1);
        }
    }

    @Test
    void aStoreInMemoryInThePlaceOfRedisIsAWarning() {
        assertThat(said(application
                        .withBean(RedisConnectionFactory.class, () -> redis(1))
                        .withBean(LockStore.class, MemoryLockStore::new)))
                .hasSize(2)
                .anyMatch(line ->
                        line.startsWith("WARN The bean 'lockTemplate' keeps locks in the memory of this process")
                                && line.contains("Remove the LockStore bean"));
    }

    @Test
    void whatRunsWithoutLockingIsAWarning() {
        String warning = "WARN The bean 'own' of the application runs everything unlocked: 2 methods with"
                + " @DistributedLocked run at the same time as on other instances. Remove the bean, or build it"
                + " over a LockStore, unless this is meant";
        assertThat(said(application.withBean("own", LockTemplate.class, LockTemplate::withoutLocking)))
                .containsExactly(warning);
        assertThat(said(application.withBean("own", LockOperations.class, LockOperations::withoutLocking)))
                .containsExactly(warning);
    }

    @Test
    void whatRunsWithoutLockingIsAWarningAtItsFirstUseWhereItIsLazy() {
        try (LogRecorder log = new LogRecorder(LockkeeperAutoConfiguration.class)) {
            application
                    .withBean("own", LockTemplate.class, LockTemplate::withoutLocking)
                    .withInitializer(context ->
                            context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                    .run(context -> {
                        assertThat(log.lines())
                                .containsExactly(
                                        INSTEAD + "a store that is opened at its first use, because the bean is lazy"
                                                + METHODS);
                        context.getBean(LockTemplate.class);
                        assertThat(log.lines())
                                .last()
                                .asString()
                                .startsWith("WARN The bean 'own' of the application runs everything unlocked");
                    });
        }
    }

    /** Each use makes another one, the inspector at the start too. */
    @Test
    void aTemplateOfPrototypeScopeIsOneLine() {
        ApplicationContextRunner prototype = application.withBean(
                "own",
                LockTemplate.class,
                () -> LockTemplate.builder(new MemoryLockStore()).build(),
                definition -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE));
        try (LogRecorder log = new LogRecorder(LockkeeperAutoConfiguration.class)) {
            prototype.run(context -> {
                context.getBean(Shop.class).sell();
                context.getBean(LockTemplate.class).close();
                assertThat(log.lines())
                        .containsExactly(INSTEAD + "a store for each use, because the bean is no singleton" + METHODS);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {LockTemplate.class, LockOperations.class})
    void aMockIsAWarning(Class<? extends LockOperations> type) {
        assertThat(said(withMock(type)))
                .containsExactly(
                        "WARN The bean 'own' is a mock that runs nothing: 2 methods with @DistributedLocked return"
                                + " null without running, and fail where a primitive, a future or a publisher is"
                                + " expected. Put LockTemplate.withoutLocking() in its place, which runs them"
                                + " unlocked, or set lockkeeper.store=memory");
    }

    @ParameterizedTest
    @EnumSource(value = Answers.class, mode = EnumSource.Mode.EXCLUDE, names = "CALLS_REAL_METHODS")
    void aMockIsAWarningWhateverItAnswers(Answers answers) {
        LockTemplate mock = Mockito.mock(LockTemplate.class, answers);
        assertThat(said(application.withBean("own", LockTemplate.class, () -> mock)))
                .singleElement()
                .asString()
                .startsWith("WARN The bean 'own' is a mock that runs nothing");
    }

    @Test
    void aMockWithAnswersOfItsOwnMayRunSomething() {
        LockTemplate mock = Mockito.mock(LockTemplate.class, call -> null);
        assertThat(said(application.withBean("own", LockTemplate.class, () -> mock)))
                .singleElement()
                .asString()
                .startsWith(INSTEAD);
    }

    @Test
    void aMockThatCallsATemplateIsNone() {
        LockTemplate template = LockTemplate.builder(new MemoryLockStore()).build();
        for (LockOperations delegating : new LockOperations[] {
            Mockito.spy(template),
            Mockito.mock(LockOperations.class, AdditionalAnswers.delegatesTo(template)),
            Mockito.mock(LockTemplate.class, AdditionalAnswers.delegatesTo(template))
        }) {
            assertThat(said(application.withBean("own", LockOperations.class, () -> delegating)))
                    .singleElement()
                    .asString()
                    .startsWith(INSTEAD);
        }
        template.close();
    }

    @Test
    void whatAFactoryBeanMakesIsNamed() {
        ApplicationContextRunner made = application.withUserConfiguration(Factory.class);
        assertThat(said(made)).containsExactly(INSTEAD + "the memory of this process, lease 30s" + METHODS);
        assertThat(said(made.withBean(RedisConnectionFactory.class, () -> redis(1))))
                .hasSize(2)
                .anyMatch(line -> line.startsWith("WARN The bean 'own' keeps locks in the memory of this process"));
    }

    static class Factory {
        @Bean
        static FactoryBean<LockTemplate> own() {
            return new FactoryBean<>() {
                private final LockTemplate template =
                        LockTemplate.builder(new MemoryLockStore()).build();

                @Override
                public LockTemplate getObject() {
                    return template;
                }

                @Override
                public Class<?> getObjectType() {
                    return LockTemplate.class;
                }
            };
        }
    }

    private <T extends LockOperations> ApplicationContextRunner withMock(Class<T> type) {
        return application.withBean("own", type, () -> Mockito.mock(type));
    }

    private ApplicationContextRunner inMemory() {
        return application.withBean("own", LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                .build());
    }

    private static JedisConnectionFactory redis(int port) {
        return new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port));
    }

    private static List<String> said(ApplicationContextRunner runner) {
        try (LogRecorder log = new LogRecorder(LockkeeperAutoConfiguration.class)) {
            runner.run(context -> assertThat(context).hasNotFailed());
            return log.lines();
        }
    }

    static class Shop {
        @DistributedLocked("sell")
        public void sell() {}

        @DistributedLocked("buy")
        public void buy() {}
    }
}
