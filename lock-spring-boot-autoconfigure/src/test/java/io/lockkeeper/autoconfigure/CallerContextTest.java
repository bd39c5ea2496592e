/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import io.micrometer.context.ContextRegistry;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.task.TaskDecorator;
import reactor.core.publisher.Mono;

/** Bodies that begin on another thread than that of their caller, because the lock was not free. */
class CallerContextTest {

    private static final Duration SOON = Duration.ofSeconds(20);
    private static final String USER = "user";

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory")
            .withBean(Shop.class);

    @BeforeEach
    void logIn() {
        MDC.put(USER, "ann");
        ContextRegistry.getInstance()
                .registerThreadLocalAccessor(
                        USER, () -> MDC.get(USER), value -> MDC.put(USER, value), () -> MDC.remove(USER));
    }

    @AfterEach
    void logOut() {
        assertThat(MDC.get(USER)).isEqualTo("ann");
        ContextRegistry.getInstance().removeThreadLocalAccessor(USER);
        MDC.clear();
    }

    @Test
    void theContextOfTheCallerIsThere() {
        runner.run(CallerContextTest::assertContext);
    }

    @Test
    void aDecoratorOfTheApplicationIsUsed() {
        ContextRegistry.getInstance().removeThreadLocalAccessor(USER);
        runner.withBean(TaskDecorator.class, () -> CallerContextTest::copying).run(CallerContextTest::assertContext);
    }

    @Test
    void aDecoratorThatFailsLeavesNoLockHeld() {
        for (TaskDecorator failing : new TaskDecorator[] {
            body -> {
                throw new IllegalStateException("decorator");
            },
            body -> () -> {
                throw new IllegalStateException("decorator");
            }
        }) {
            runner.withBean(TaskDecorator.class, () -> failing).run(context -> {
                Shop shop = context.getBean(Shop.class);
                CompletableFuture<String> sale = whileHeldElsewhere(context, locks -> shop.sell());
                assertThat(sale)
                        .failsWithin(SOON)
                        .withThrowableThat()
                        .havingRootCause()
                        .withMessage("decorator");
                CompletableFuture<String> other = whileHeldElsewhere(
                        context,
                        locks -> locks.executeAsync(
                                LockRequest.of("stock"), lease -> CompletableFuture.completedFuture("sold")));
                assertThat(other).failsWithin(SOON);
                LockTemplate locks = context.getBean(LockTemplate.class);
                assertThat(locks.acquireAsync(LockRequest.of("stock")))
                        .succeedsWithin(SOON)
                        .satisfies(LockLease::close);
            });
        }
    }

    @Test
    void aBeanOfItsNameIsTheExecutor() {
        runner.withUserConfiguration(Threads.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(whileHeldElsewhere(context, locks -> shop.thread()))
                    .succeedsWithin(SOON)
                    .isEqualTo("own thread");
        });
    }

    private static void assertContext(ApplicationContext context) {
        Shop shop = context.getBean(Shop.class);
        LockTemplate template = context.getBean(LockTemplate.class);
        assertThat(shop.sell()).succeedsWithin(SOON).isEqualTo("sold to ann");
        assertThat(MDC.get(USER)).isEqualTo("ann");
        assertThat(whileHeldElsewhere(context, locks -> shop.sell()))
                .succeedsWithin(SOON)
                .isEqualTo("sold to ann");
        assertThat(whileHeldElsewhere(context, locks -> shop.later().toFuture()))
                .succeedsWithin(SOON)
                .isEqualTo("sold to ann");
        assertThat(whileHeldElsewhere(
                        context,
                        locks -> locks.executeStage(
                                LockRequest.of("stock"), lease -> CompletableFuture.completedFuture(MDC.get(USER)))))
                .succeedsWithin(SOON)
                .isEqualTo("ann");
        assertThat(template.executeAsync(
                        LockRequest.of("stock"), lease -> CompletableFuture.completedFuture(MDC.get(USER))))
                .succeedsWithin(SOON)
                .isEqualTo("ann");
        assertContextOfFallbacks(context);
    }

    private static void assertContextOfFallbacks(ApplicationContext context) {
        Shop shop = context.getBean(Shop.class);
        MemoryLockStore store = context.getBean(MemoryLockStore.class).peer();
        try (LockTemplate elsewhere = LockTemplate.builder(store).build();
                LockLease lease = elsewhere.acquire("stock")) {
            assertThat(shop.sellOrReserve()).succeedsWithin(SOON).isEqualTo("reserved for ann");
            assertThat(shop.laterOrReserve().toFuture()).succeedsWithin(SOON).isEqualTo("reserved for ann");
            assertThat(lease.isHeld()).isTrue();
        }
    }

    /** Asks while another instance holds the lock, which is free when the caller has gone on. */
    private static <T> CompletableFuture<T> whileHeldElsewhere(
            ApplicationContext context, Function<LockTemplate, CompletableFuture<T>> call) {
        MemoryLockStore store = context.getBean(MemoryLockStore.class).peer();
        try (LockTemplate elsewhere = LockTemplate.builder(store).build();
                LockLease lease = elsewhere.acquire("stock")) {
            CompletableFuture<T> result = call.apply(context.getBean(LockTemplate.class));
            assertThat(lease.isHeld()).isTrue();
            return result;
        }
    }

    /** As applications write it: it leaves its thread without a context. */
    private static Runnable copying(Runnable body) {
        String user = MDC.get(USER);
        return () -> {
            MDC.put(USER, user);
            try {
                body.run();
            } finally {
                MDC.clear();
            }
        };
    }

    static class Threads {
        @Bean(destroyMethod = "shutdown")
        ExecutorService threads() {
            return Executors.newSingleThreadExecutor(task -> new Thread(task, "own thread"));
        }

        @Bean(defaultCandidate = false)
        Executor lockkeeperExecutor(ExecutorService threads) {
            return threads;
        }

        @Bean
        Executor other() {
            return Runnable::run;
        }
    }

    static class Shop {

        @DistributedLocked("stock")
        public CompletableFuture<String> sell() {
            return CompletableFuture.completedFuture("sold to " + MDC.get(USER));
        }

        @DistributedLocked("stock")
        public Mono<String> later() {
            return Mono.just("sold to " + MDC.get(USER));
        }

        @DistributedLocked(name = "stock", waitTime = "50ms", fallbackMethod = "reserve")
        public CompletableFuture<String> sellOrReserve() {
            return sell();
        }

        @DistributedLocked(name = "stock", waitTime = "50ms", fallbackMethod = "reserveLater")
        public Mono<String> laterOrReserve() {
            return later();
        }

        CompletableFuture<String> reserve() {
            return CompletableFuture.completedFuture("reserved for " + MDC.get(USER));
        }

        Mono<String> reserveLater() {
            return Mono.just("reserved for " + MDC.get(USER));
        }

        @DistributedLocked("stock")
        public CompletableFuture<String> thread() {
            return CompletableFuture.completedFuture(Thread.currentThread().getName())
                    .orTimeout(1, TimeUnit.MINUTES);
        }
    }
}
