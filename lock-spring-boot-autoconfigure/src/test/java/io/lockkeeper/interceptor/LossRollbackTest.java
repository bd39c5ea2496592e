/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import io.lockkeeper.interceptor.SalesDatabase.Sales;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** A lock that is taken away by force before the transaction ends. */
@Timeout(60)
class LossRollbackTest {

    private final ApplicationContextRunner runner = LockedApplication.runner()
            .withUserConfiguration(SalesDatabase.class, Transactions.class)
            .withBean(Shop.class);

    @AfterEach
    void noInterruptIsLeftBehind() {
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void failRollsTheTransactionBack() {
        assertRows(0, Shop::failing);
    }

    @Test
    void failRollsBackWhereAFixedLeaseEndsFirst() {
        assertRows(0, Shop::tooSlow);
    }

    @Test
    void interruptRollsTheTransactionBack() {
        assertRows(0, Shop::interrupted);
    }

    @Test
    void interruptRollsBackWhatACheckedExceptionWouldCommit() {
        assertRows(0, Shop::interruptedWithACheckedException);
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "release-after-completion"})
    void failRollsBackWhatAnExceptionOfTheBodyWouldCommit(String insideTransaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + insideTransaction)
                .run(context -> {
                    Shop shop = context.getBean(Shop.class);
                    assertOwnException(IOException.class, shop::failingWithACheckedException);
                    assertOwnException(IllegalArgumentException.class, shop::failingWithoutRollback);
                    assertOwnException(IOException.class, shop::failingInASavepoint);
                    assertThat(context.getBean(Sales.class).committed()).isZero();
                });
    }

    private static void assertOwnException(Class<? extends Exception> type, ThrowingCallable call) {
        assertThatExceptionOfType(type).isThrownBy(call).withMessage("own").satisfies(failure -> assertThat(
                        failure.getSuppressed())
                .singleElement()
                .isInstanceOfSatisfying(
                        LockLostException.class, loss -> assertThat(loss.name()).isEqualTo("stock")));
    }

    @Test
    void anExceptionCommitsATransactionThatBeganOutsideOfTheLostLock() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            context.getBean(TransactionTemplate.class)
                    .executeWithoutResult(
                            status -> assertOwnException(IOException.class, shop::failingWithACheckedException));
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
        });
    }

    @Test
    void failRollsBackATransactionThatTheBodyBegins() {
        assertRows(0, Shop::beginning);
    }

    @Test
    void failRollsBackInsideAnInnerLockThatOnlyReports() {
        assertRows(0, Shop::nested);
    }

    @Test
    void aBodyThatIgnoresTheRollbackStillFails() {
        assertRows(0, Shop::ignoring);
    }

    @Test
    void whatWasCommittedBeforeTheLossStays() {
        assertRows(1, Shop::committingFirst);
    }

    @Test
    void reportLetsTheTransactionCommit() {
        runner.run(context -> {
            context.getBean(Shop.class).reporting();
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
        });
    }

    @Test
    void aBodyThatReleasesItsLockItselfCommits() {
        runner.run(context -> {
            context.getBean(Shop.class).releasing();
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
        });
    }

    private void assertRows(int rows, Call call) {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThatExceptionOfType(LockLostException.class)
                    .isThrownBy(() -> call.on(shop))
                    .satisfies(loss -> assertThat(loss.name()).isEqualTo("stock"));
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(rows);
        });
    }

    private interface Call {
        void on(Shop shop) throws Exception;
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    static class Shop {

        private final Sales sales;
        private final TransactionTemplate transactions;
        private final LockInspector inspector;

        Shop(Sales sales, TransactionTemplate transactions, LockInspector inspector) {
            this.sales = sales;
            this.transactions = transactions;
            this.inspector = inspector;
        }

        @Transactional
        @DistributedLocked("stock")
        public void reporting() {
            sellAndLose();
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void failing() {
            sellAndLose();
        }

        @Transactional
        @DistributedLocked(name = "stock", leaseTime = "1m", onLost = LossPolicy.FAIL)
        public void tooSlow() throws InterruptedException {
            sales.add();
            CountDownLatch lost = new CountDownLatch(1);
            LockContext.require().onLost(loss -> lost.countDown());
            // The time that is left begins now, and not before the transaction
            LockContext.require().extend(Duration.ofMillis(100));
            lost.await();
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.INTERRUPT)
        public void interrupted() {
            sales.add();
            LockedApplication.beginLoss(inspector, "stock");
            awaitInterrupt();
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.INTERRUPT)
        public void interruptedWithACheckedException() throws InterruptedException {
            sales.add();
            LockedApplication.beginLoss(inspector, "stock");
            new CountDownLatch(1).await();
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void failingWithACheckedException() throws IOException {
            sellAndLose();
            throw new IOException("own");
        }

        @Transactional(noRollbackFor = IllegalArgumentException.class)
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void failingWithoutRollback() {
            sellAndLose();
            throw new IllegalArgumentException("own");
        }

        @Transactional(propagation = Propagation.NESTED)
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void failingInASavepoint() throws IOException {
            failingWithACheckedException();
        }

        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void beginning() {
            transactions.executeWithoutResult(status -> sellAndLose());
        }

        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void ignoring() {
            try {
                beginning();
            } catch (LockLostException ignored) {
                return;
            }
            throw new AssertionError("committed");
        }

        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void committingFirst() {
            transactions.executeWithoutResult(status -> sales.add());
            beginning();
        }

        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void nested() {
            transactions.executeWithoutResult(status -> sellAndLose());
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void releasing() {
            sales.add();
            LockContext.require().release();
        }

        private void sellAndLose() {
            sales.add();
            try {
                LockedApplication.lose(inspector, "stock");
            } catch (InterruptedException interrupt) {
                throw new IllegalStateException(interrupt);
            }
        }

        private static void awaitInterrupt() {
            try {
                new CountDownLatch(1).await();
                throw new AssertionError("never counted down");
            } catch (InterruptedException interrupt) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
