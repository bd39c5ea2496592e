/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.mock;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;

/** Applications with annotated methods in which something is missing without which no method is locked. */
class MissingPartsTest {

    private static final String ADVISOR = "distributedLockedAdvisor";
    private static final String CREATOR = AopConfigUtils.AUTO_PROXY_CREATOR_BEAN_NAME;

    private final ApplicationContextRunner empty = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory", "lockkeeper.wait-time=0s");

    private final ApplicationContextRunner application = empty.withBean(Shop.class);

    @ParameterizedTest
    @CsvSource({
        ADVISOR + ", there is no DistributedLockedAdvisor bean, distributedLockedAdvisor",
        CREATOR + ", no auto-proxy creator puts proxies around beans, " + CREATOR,
        "own, there is no LockOperations bean, LockTemplate"
    })
    void withoutAPartTheStartFailsAndSaysWhatToDo(String part, String problem, String remedy) {
        for (String lazy : new String[] {"false", "true"}) {
            without(application, part)
                    .withPropertyValues("spring.main.lazy-initialization=" + lazy)
                    .run(context -> {
                        FailureAnalysis analysis = analysis(context);
                        assertThat(analysis.getDescription()).contains("@DistributedLocked", problem);
                        assertThat(analysis.getAction()).contains(remedy);
                    });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {ADVISOR, CREATOR, "own"})
    void whereNothingIsAnnotatedNoPartIsMissed(String part) {
        without(empty.withBean(Object.class), part)
                .run(context -> assertThat(context).hasNotFailed());
    }

    @ParameterizedTest
    @ValueSource(strings = {ADVISOR, CREATOR})
    void whereLockingIsSwitchedOffNoPartIsMissed(String part) {
        without(application.withPropertyValues("lockkeeper.enabled=false"), part)
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void severalStoresAndNoPrimaryOneAreReported() {
        empty.withBean("one", LockStore.class, MemoryLockStore::new)
                .withBean("other", LockStore.class, MemoryLockStore::new)
                .run(context -> {
                    FailureAnalysis analysis = analysis(context);
                    assertThat(analysis.getDescription())
                            .contains("cannot choose among several LockStore beans: one, other");
                    assertThat(analysis.getAction()).contains("@Primary");
                });
    }

    @Test
    void aTemplateThatIsNullIsNone() {
        application.withUserConfiguration(NoTemplate.class).run(context -> assertThat(
                        analysis(context).getDescription())
                .contains("@DistributedLocked", "there is no LockOperations bean"));
        empty.withUserConfiguration(NoTemplate.class)
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aTemplateThatIsNullHidesThatOfTheParent() {
        empty.run(parent -> {
            application
                    .withUserConfiguration(NoTemplate.class)
                    .withParent(parent)
                    .run(context -> {
                        FailureAnalysis analysis = analysis(context);
                        assertThat(analysis.getDescription())
                                .contains("@DistributedLocked", "there is no LockOperations bean, or it is null");
                        assertThat(analysis.getAction()).contains("not null", "of the parent context");
                    });
            empty.withUserConfiguration(NoTemplate.class).withParent(parent).run(context -> assertThat(context)
                    .hasNotFailed());
        });
    }

    @Test
    void anotherBeanInThePlaceOfTheAdvisorIsReported() {
        application
                .withAllowBeanDefinitionOverriding(true)
                .withBean("replacing", BeanFactoryPostProcessor.class, () -> beans -> {
                    BeanDefinitionRegistry registry = (BeanDefinitionRegistry) beans;
                    registry.removeBeanDefinition(ADVISOR);
                    beans.registerSingleton(ADVISOR, "no advisor");
                })
                .run(context -> assertThat(analysis(context).getDescription())
                        .contains("there is no DistributedLockedAdvisor bean"));
    }

    @Test
    void aTemplateOfTheParentLocks() {
        empty.run(parent -> new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
                .withPropertyValues("lockkeeper.store=memory", "lockkeeper.wait-time=0s")
                .withParent(parent)
                .withBean(Shop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBeanFactory().getBeanNamesForType(LockOperations.class))
                            .isEmpty();
                    isLocked(context);
                }));
    }

    @Test
    void beansOfAParentThatIsNotLockedAreReported() {
        try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext(Shop.class)) {
            empty.withParent(parent).run(context -> assertThat(analysis(context).getDescription())
                    .contains("missingPartsTest.Shop] would not be locked", "in a parent context"));
            empty.withParent(parent)
                    .withPropertyValues("lockkeeper.enabled=false")
                    .run(context -> assertThat(context).hasNotFailed());
        }
        application.run(parent ->
                empty.withParent(parent).run(context -> assertThat(context).hasNotFailed()));
        try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext(Object.class)) {
            application.withParent(parent).run(MissingPartsTest::isLocked);
        }
    }

    @Test
    void whatLocksMayBeLazy() {
        application
                .withBean(LockTemplate.class, MissingPartsTest::template, definition -> definition.setLazyInit(true))
                .run(MissingPartsTest::isLocked);
    }

    @Test
    void aMockThatLocksIsNoAlarm() {
        application
                .withBean(LockOperations.class, () -> mock(LockOperations.class))
                .run(context -> assertThat(context).hasNotFailed());
        without(application, "own")
                .withBean(
                        "mocking",
                        BeanFactoryPostProcessor.class,
                        () -> beans -> beans.registerSingleton("mock", mock(LockOperations.class)))
                .run(context -> assertThat(context).hasNotFailed());
    }

    private static FailureAnalysis analysis(AssertableApplicationContext context) {
        assertThat(context).hasFailed();
        return StartupFailure.analyze(context.getStartupFailure());
    }

    private static ApplicationContextRunner without(ApplicationContextRunner runner, String part) {
        ApplicationContextRunner whole = part.equals("own")
                ? runner.withBean(part, LockOperations.class, () -> mock(LockOperations.class))
                : runner;
        return whole.withBean("removing " + part, BeanFactoryPostProcessor.class, () -> beans -> {
            assertThat(beans.containsBeanDefinition(part)).isTrue();
            ((BeanDefinitionRegistry) beans).removeBeanDefinition(part);
        });
    }

    private static void isLocked(ApplicationContext context) {
        Shop shop = context.getBean(Shop.class);
        assertThat(shop.sell()).isEqualTo("sold");
        try (LockLease elsewhere = context.getBean(LockTemplate.class).acquire("stock")) {
            assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(shop::sell);
            assertThat(elsewhere.isHeld()).isTrue();
        }
    }

    private static LockTemplate template() {
        return LockTemplate.builder(new MemoryLockStore())
                .waitTime(Duration.ZERO)
                .build();
    }

    static class NoTemplate {
        @Bean
        static @Nullable LockTemplate own() {
            return null;
        }
    }

    static class Shop {
        @DistributedLocked("stock")
        public String sell() {
            return "sold";
        }
    }
}
