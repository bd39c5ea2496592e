/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.actuate.LockkeeperEndpointAutoConfiguration;
import io.lockkeeper.autoconfigure.actuate.LockkeeperHealthAutoConfiguration;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.JavaProcess;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Answers;
import org.mockito.Mockito;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.context.bean.override.mockito.MockitoSpyBean;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/**
 * Applications with the actuator in which a test puts something in the place of the template, as docs/testing.md says.
 */
class MockedLocksTest {

    private static final String MEMORY = "lockkeeper.store=memory";
    private static final String EXPOSED = "management.endpoints.web.exposure.include=*";

    @Nested
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {MEMORY, EXPOSED})
    class OfTheTemplate {

        @MockitoBean
        private LockTemplate template;

        @Test
        void letTheApplicationStartAndRunNothing(@Autowired Shop shop, @Autowired LockInspector inspector) {
            assertThat(shop.sell()).isNull();
            assertThat(inspector.heldHere()).isEmpty();
            assertThat(Mockito.mockingDetails(template).getInvocations()).isNotEmpty();
        }
    }

    @Nested
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {MEMORY, "management.health.lockkeeper.enabled=false"})
    class OfTheTemplateWithoutHealth {

        @MockitoBean
        private LockTemplate template;

        @Test
        void runNothing(@Autowired Shop shop) {
            assertThat(shop.sell()).isNull();
            Mockito.verify(template).run(Mockito.<LockRequest>any(), Mockito.any());
        }
    }

    @Nested
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {MEMORY, EXPOSED})
    class OfTheOperations {

        @MockitoBean(name = "lockTemplate")
        private LockOperations operations;

        @Test
        void runNothing(@Autowired Shop shop) {
            assertThat(shop.sell()).isNull();
            Mockito.verify(operations).run(Mockito.<LockRequest>any(), Mockito.any());
        }
    }

    @Nested
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {MEMORY, EXPOSED})
    class SpiesOfTheTemplate {

        @MockitoSpyBean
        private LockTemplate template;

        @Test
        void lock(@Autowired Shop shop) {
            assertThat(shop.sell()).isEqualTo("sold");
            Mockito.verify(template).run(Mockito.<LockRequest>any(), Mockito.any());
        }
    }

    @Nested
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {MEMORY, EXPOSED})
    class WithoutLocking {

        @TestConfiguration
        static class Unlocked {
            @Bean
            LockTemplate lockTemplate() {
                return LockTemplate.withoutLocking();
            }
        }

        @Test
        void everythingRuns(@Autowired Shop shop) {
            assertThat(shop.sell()).isEqualTo("sold");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"RETURNS_DEFAULTS", "RETURNS_DEEP_STUBS"})
    void aResultThatCannotBeMissingFailsAndNamesTheMock(Answers answers) {
        new ApplicationContextRunner()
                .withUserConfiguration(Application.class)
                .withBean(Till.class)
                .withBean(LockTemplate.class, () -> Mockito.mock(LockTemplate.class, answers))
                .run(context -> {
                    Till till = context.getBean(Till.class);
                    assertThatIllegalStateException()
                            .isThrownBy(till::count)
                            .withMessageStartingWith("The LockTemplate is a mock that runs nothing: Till.count");
                    StepVerifier.create(till.one()).verifyErrorSatisfies(MockedLocksTest::namesTheMock);
                    StepVerifier.create(till.all()).verifyErrorSatisfies(MockedLocksTest::namesTheMock);
                    for (CompletableFuture<String> future : List.of(till.later(), till.laterOrInstead())) {
                        assertThat(future).isCompletedExceptionally();
                        namesTheMock(future.handle((value, failure) -> failure).join());
                    }
                    till.close();
                    assertThat(till.name()).isNull();
                });
    }

    private static void namesTheMock(Throwable failure) {
        assertThat(failure)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("The LockTemplate is a mock that runs nothing: ");
    }

    @Test
    void aMockOfTheStoreFailsWithWhatToDo() {
        new ApplicationContextRunner()
                .withUserConfiguration(Application.class)
                .withPropertyValues(MEMORY)
                .withBean(LockStore.class, () -> Mockito.mock(LockStore.class))
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageEndingWith(
                                "does not open, and returns null: a mock cannot keep locks. Mock LockTemplate"
                                        + " instead, or use MemoryLockStore"));
    }

    @ParameterizedTest
    @ValueSource(classes = {RedisConnectionFactory.class, JedisConnectionFactory.class, LettuceConnectionFactory.class})
    <T> void aMockOfTheConnectionFactoryRefusesLocksAndNotTheStart(Class<T> type) {
        new ApplicationContextRunner()
                .withUserConfiguration(Application.class)
                .withBean(type, () -> Mockito.mock(type))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThatExceptionOfType(LockStoreException.class).isThrownBy(context.getBean(Shop.class)::sell);
                });
    }

    /** It takes half a second of the processor. */
    @Test
    void theStartOfAnApplicationWithoutMocksDoesNotInitialiseMockito() {
        try (JavaProcess process = JavaProcess.start(List.of("-Xlog:class+load=info"), WithoutMocks.class)) {
            assertThat(process.awaitExit(Duration.ofMinutes(1))).isZero();
            assertThat(process.output().lines().filter(line -> line.contains("[class,load] ")))
                    .anyMatch(line -> line.contains(" io.lockkeeper.LockTemplate "))
                    .noneMatch(line -> line.contains(" org.mockito."));
        }
    }

    static final class WithoutMocks {

        private WithoutMocks() {}

        public static void main(String[] args) {
            new ApplicationContextRunner()
                    .withUserConfiguration(Application.class)
                    .withPropertyValues(MEMORY)
                    .run(context -> assertThat(context).hasNotFailed());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        LockkeeperAutoConfiguration.class,
        LockkeeperEndpointAutoConfiguration.class,
        LockkeeperHealthAutoConfiguration.class
    })
    @Import(Shop.class)
    static class Application {}

    static class Shop {
        @DistributedLocked("stock")
        public String sell() {
            return "sold";
        }
    }

    static class Till {
        @DistributedLocked("till")
        public int count() {
            return 1;
        }

        @DistributedLocked("till")
        public Mono<String> one() {
            return Mono.just("one");
        }

        @DistributedLocked("till")
        public Flux<String> all() {
            return Flux.just("all");
        }

        @DistributedLocked("till")
        public CompletableFuture<String> later() {
            return CompletableFuture.completedFuture("later");
        }

        @DistributedLocked(value = "till", skipWhenLocked = true)
        public CompletableFuture<String> laterOrInstead() {
            return CompletableFuture.completedFuture("later");
        }

        @DistributedLocked("till")
        public void close() {}

        @DistributedLocked("till")
        public String name() {
            return "till";
        }
    }
}
