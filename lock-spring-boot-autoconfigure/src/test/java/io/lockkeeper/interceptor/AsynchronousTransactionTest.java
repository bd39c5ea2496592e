/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import io.lockkeeper.interceptor.SalesDatabase.Sales;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;
import reactor.core.publisher.Mono;

/** Transactions and bodies that go on after their method has returned. */
@Timeout(60)
class AsynchronousTransactionTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final ApplicationContextRunner runner = runner().withUserConfiguration(
                    SalesDatabase.class, Transactions.class)
            .withBean(Shop.class);

    private final ApplicationContextRunner keeping =
            runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion");

    @ParameterizedTest
    @EnumSource(names = {"FAIL", "INTERRUPT"})
    void aTransactionOfTheMethodRollsBackWhereTheLockIsLostBeforeItReturns(LossPolicy policy) {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(policy == LossPolicy.FAIL ? shop.failing() : shop.interrupted())
                    .failsWithin(SOON)
                    .withThrowableThat()
                    .withCauseInstanceOf(LockLostException.class);
            assertThat(context.getBean(Sales.class).committed()).isZero();
        });
    }

    enum Form {
        STAGE {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                assertThat(shop.stage()).succeedsWithin(SOON).isEqualTo("done");
            }
        },
        SKIPPABLE_STAGE {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                assertThat(shop.skippable()).succeedsWithin(SOON).isEqualTo("done");
            }
        },
        PUBLISHER {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                assertThat(shop.publisher().block(SOON)).isEqualTo("done");
            }
        },
        BLOCKING {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                shop.blocking();
            }
        },
        ACQUIRE {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                locks.acquire("stock").close();
            }
        },
        LOCK {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                locks.lock("stock").lock();
                locks.lock("stock").unlock();
            }
        },
        ACQUIRE_ASYNC {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                assertThat(locks.acquireAsync(LockRequest.of("stock")))
                        .succeedsWithin(SOON)
                        .satisfies(LockLease::close);
            }
        },
        EXECUTE_ASYNC {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                assertThat(locks.executeAsync(
                                LockRequest.of("stock"), lease -> CompletableFuture.completedFuture("done")))
                        .succeedsWithin(SOON)
                        .isEqualTo("done");
            }
        };

        abstract void lockAndRelease(Shop shop, LockOperations locks);
    }

    @ParameterizedTest
    @EnumSource
    void aTransactionEntersAgainWhatAnAsynchronousCallLeftToIt(Form form) {
        keeping.run(context -> {
            Shop shop = context.getBean(Shop.class);
            LockOperations locks = context.getBean(LockOperations.class);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                for (Form again : Form.values()) {
                    form.lockAndRelease(shop, locks);
                    again.lockAndRelease(shop, locks);
                }
                assertThat(locks.lock("stock").isLocked()).isTrue();
            });
            assertThat(locks.lock("stock").isLocked()).isFalse();
        });
    }

    @Test
    void aTransactionInsideASuspendedOneEntersItsLocksAgain() {
        keeping.run(context -> {
            Shop shop = context.getBean(Shop.class);
            LockOperations locks = context.getBean(LockOperations.class);
            TransactionTemplate inner = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
            inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                Form.STAGE.lockAndRelease(shop, locks);
                inner.executeWithoutResult(own -> {
                    Form.STAGE.lockAndRelease(shop, locks);
                    Form.BLOCKING.lockAndRelease(shop, locks);
                });
                assertThat(locks.lock("stock").isLocked()).isTrue();
                Form.STAGE.lockAndRelease(shop, locks);
            });
            assertThat(locks.lock("stock").isLocked()).isFalse();
        });
    }

    @Test
    void aStageThatOutlivesTheTransactionKeepsItsLock() {
        keeping.run(context -> {
            Shop shop = context.getBean(Shop.class);
            LockOperations locks = context.getBean(LockOperations.class);
            CompletableFuture<String> end = new CompletableFuture<>();
            CompletableFuture<String> stage =
                    context.getBean(TransactionTemplate.class).execute(status -> shop.until(end));
            assertThat(locks.lock("stock").isLocked()).isTrue();
            end.complete("done");
            assertThat(stage).succeedsWithin(SOON).isEqualTo("done");
            assertThat(locks.lock("stock").isLocked()).isFalse();
        });
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    static class Shop {

        private final Sales sales;
        private final LockInspector inspector;

        Shop(Sales sales, LockInspector inspector) {
            this.sales = sales;
            this.inspector = inspector;
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public CompletableFuture<String> failing() {
            return sellAndLose();
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.INTERRUPT)
        public CompletableFuture<String> interrupted() {
            return sellAndLose();
        }

        @DistributedLocked("stock")
        public CompletableFuture<String> stage() {
            return CompletableFuture.completedFuture("done");
        }

        @DistributedLocked(name = "stock", skipWhenLocked = true)
        public CompletableFuture<String> skippable() {
            return CompletableFuture.completedFuture("done");
        }

        @DistributedLocked("stock")
        public CompletableFuture<String> until(CompletableFuture<String> end) {
            return end;
        }

        @DistributedLocked("stock")
        public Mono<String> publisher() {
            return Mono.just("done");
        }

        @DistributedLocked("stock")
        public void blocking() {
            assertThat(LockContext.require().isHeld()).isTrue();
        }

        private CompletableFuture<String> sellAndLose() {
            sales.add();
            try {
                LockedApplication.lose(inspector, "stock");
            } catch (InterruptedException interrupt) {
                Thread.currentThread().interrupt();
            }
            return CompletableFuture.completedFuture("done");
        }
    }
}
