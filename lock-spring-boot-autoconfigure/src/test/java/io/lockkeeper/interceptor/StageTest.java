/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import org.aspectj.lang.JoinPoint;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.core.task.TaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;

/** Stages under locks; what they share with all kinds of results is in the matrix. */
class StageTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final ApplicationContextRunner runner = runner().withBean(Shop.class);

    @Test
    void theBodyRunsOnTheCallersThreadWhereTheLockIsThereAtOnce() {
        runner.run(context -> assertThat(context.getBean(Shop.class).thread())
                .succeedsWithin(SOON)
                .isSameAs(Thread.currentThread()));
    }

    @Test
    void theBodyRunsOnTheTemplatesExecutorWhereTheStoreHasToBeAsked() {
        CompletableFuture<Void> connected = new CompletableFuture<>();
        runner.withBean(LockStore.class, () -> new FailingStore(new MemoryLockStore(), connected))
                .run(context -> {
                    CompletableFuture<Thread> body = context.getBean(Shop.class).thread();
                    connected.complete(null);
                    assertThat(body).succeedsWithin(SOON).satisfies(thread -> assertThat(thread.getName())
                            .startsWith("lockkeeper-callback"));
                });
    }

    @Test
    void aThreadThatHoldsTheLockEntersItAgainAndTheStageOutlivesIt() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            LockTemplate template = context.getBean(LockTemplate.class);
            CompletableFuture<String> end = new CompletableFuture<>();
            CompletionStage<String> inner = shop.outer(shop, end);
            assertThat(template.lock("shop").isLocked()).isTrue();
            assertThat(template.lock("shop").isHeldByCurrentThread()).isFalse();
            assertThat(shop.thread())
                    .failsWithin(SOON)
                    .withThrowableThat()
                    .withCauseInstanceOf(LockNotAcquiredException.class);
            end.complete("done");
            assertThat(inner.toCompletableFuture()).succeedsWithin(SOON).isEqualTo("done");
            assertThat(template.lock("shop").isLocked()).isFalse();
        });
    }

    @Test
    void anAsynchronousMethodIsLockedOnItsWorkerUntilItsStageIsCompleted() {
        runner.withUserConfiguration(Workers.class).withBean(Background.class).run(context -> {
            CompletableFuture<String> result = context.getBean(Background.class).work();
            assertThat(result).succeedsWithin(SOON).isEqualTo("worker [background]");
            assertThat(context.getBean(LockTemplate.class).lock("background").isLocked())
                    .isFalse();
        });
    }

    @Test
    void aspectsBetweenTheLockAndTheMethodKnowTheCallOnAnyThread() {
        runner.withBean(LockStore.class, () -> new FailingStore(new MemoryLockStore()))
                .withBean(Inner.class)
                .run(context -> {
                    assertThat(context.getBean(Shop.class).thread()).succeedsWithin(SOON);
                    assertThat(context.getBean(Inner.class).seen).hasValue("thread");
                });
    }

    @Test
    void aCallerThatCancelsDoesNotEndTheFutureOfOthers() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            for (boolean failing : new boolean[] {false, true}) {
                CompletableFuture<String> shared = new CompletableFuture<>();
                CompletableFuture<String> one = failing ? shop.readOrFail(shared) : shop.read(shared);
                CompletableFuture<String> other = failing ? shop.readOrFail(shared) : shop.read(shared);
                Awaitility.await().until(() -> shared.getNumberOfDependents() == 2);
                assertThat(one.cancel(true)).isTrue();
                assertThat(shared).isNotDone();
                shared.complete("read");
                assertThat(other).succeedsWithin(SOON).isEqualTo("read");
                CompletableFuture<String> own = new CompletableFuture<>();
                CompletableFuture<String> only = failing ? shop.readOrFail(own) : shop.read(own);
                Awaitility.await().until(() -> own.getNumberOfDependents() == 1);
                assertThat(only.cancel(true)).isTrue();
                assertThat(own).isCancelled();
            }
        });
    }

    @Test
    void aLossDoesNotEndTheFutureOfOthers() {
        runner.run(context -> {
            LockInspector inspector = context.getBean(LockInspector.class);
            Shop shop = context.getBean(Shop.class);
            CompletableFuture<String> shared = new CompletableFuture<>();
            CompletableFuture<String> other = shared.thenApply(read -> read);
            CompletableFuture<String> one = shop.readUntilLost(shared);
            Awaitility.await().until(() -> shared.getNumberOfDependents() == 2);
            LockedApplication.beginLoss(inspector, "shop");
            assertThat(one).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LockLostException.class);
            assertThat(shared).isNotDone();
            shared.complete("read");
            assertThat(other).succeedsWithin(SOON).isEqualTo("read");

            CompletableFuture<String> own = new CompletableFuture<>();
            CompletableFuture<String> only = shop.readUntilLost(own);
            Awaitility.await().until(() -> own.getNumberOfDependents() == 1);
            LockedApplication.beginLoss(inspector, "shop");
            assertThat(only).failsWithin(SOON);
            assertThat(own).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LockLostException.class);
        });
    }

    /** What the caller hears first ends the stage on a thread of its own, which must not be faster. */
    @Test
    void aStageThatALossEndsHasTheLossAndNoCancellation() {
        runner.withBean("lockkeeperExecutor", Executor.class, () -> Runnable::run)
                .run(context -> {
                    CompletableFuture<String> own = new CompletableFuture<>();
                    CompletableFuture<String> only = context.getBean(Shop.class).readUntilLost(own);
                    Awaitility.await().until(() -> own.getNumberOfDependents() == 1);
                    LockedApplication.beginLoss(context.getBean(LockInspector.class), "shop");
                    assertThat(only).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LockLostException.class);
                    assertThat(own).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LockLostException.class);
                });
    }

    @Test
    void aStageThatOnlyItsMakerCompletesGoesOn() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            CompletableFuture<String> read = new CompletableFuture<>();
            CompletableFuture<String> lost = shop.readMinimal(read).toCompletableFuture();
            LockedApplication.beginLoss(context.getBean(LockInspector.class), "shop");
            assertThat(lost).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LockLostException.class);
            CompletableFuture<String> cancelled = shop.readMinimal(read).toCompletableFuture();
            assertThat(cancelled.cancel(true)).isTrue();
            assertThat(read).isNotDone();
        });
    }

    static class Shop {

        @DistributedLocked(name = "shop", mode = LockMode.READ, onLost = LossPolicy.INTERRUPT)
        public CompletionStage<String> readMinimal(CompletableFuture<String> read) {
            return read.minimalCompletionStage();
        }

        @DistributedLocked(name = "shop", mode = LockMode.READ, onLost = LossPolicy.INTERRUPT)
        public CompletableFuture<String> readUntilLost(CompletableFuture<String> read) {
            return read;
        }

        @DistributedLocked(name = "shop", mode = LockMode.READ)
        public CompletableFuture<String> read(CompletableFuture<String> shared) {
            return shared;
        }

        @DistributedLocked(name = "shop", mode = LockMode.READ, onLost = LossPolicy.FAIL)
        public CompletableFuture<String> readOrFail(CompletableFuture<String> shared) {
            return shared;
        }

        @DistributedLocked("shop")
        public CompletableFuture<Thread> thread() {
            return CompletableFuture.completedFuture(Thread.currentThread());
        }

        @DistributedLocked("shop")
        public CompletionStage<String> stage(CompletableFuture<String> end) {
            return end;
        }

        @DistributedLocked("shop")
        public CompletionStageHolder outerHolder(Shop self, CompletableFuture<String> end) {
            return new CompletionStageHolder(self.stage(end));
        }

        public CompletionStage<String> outer(Shop self, CompletableFuture<String> end) {
            return self.outerHolder(self, end).stage();
        }
    }

    record CompletionStageHolder(CompletionStage<String> stage) {}

    @Configuration(proxyBeanMethods = false)
    @EnableAsync(proxyTargetClass = true)
    static class Workers {
        @Bean
        TaskExecutor taskExecutor() {
            return task -> new Thread(task, "worker").start();
        }
    }

    static class Background {
        @Async
        @DistributedLocked("background")
        public CompletableFuture<String> work() {
            return CompletableFuture.completedFuture(Thread.currentThread().getName() + " "
                    + LockContext.require().names());
        }
    }

    @Aspect
    @Order
    static class Inner {

        final AtomicReference<String> seen = new AtomicReference<>();

        @Before("execution(* io.lockkeeper.interceptor.StageTest.Shop.thread())")
        public void before(JoinPoint call) {
            seen.set(call.getSignature().getName());
        }
    }
}
