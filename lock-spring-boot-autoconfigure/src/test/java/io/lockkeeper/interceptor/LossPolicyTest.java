/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** A lock that is taken away by force while the body still runs. */
@Timeout(60)
class LossPolicyTest {

    private final ApplicationContextRunner runner = runner().withBean(Shop.class);

    @AfterEach
    void noInterruptIsLeftBehind() {
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void reportLetsTheResultThrough() {
        runner.run(
                context -> assertThat(context.getBean(Shop.class).reporting()).isEqualTo("done"));
    }

    @Test
    void failReplacesTheResult() {
        runner.run(context -> assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(context.getBean(Shop.class)::failing)
                .satisfies(loss -> assertThat(loss.name()).isEqualTo("shop")));
    }

    @Test
    void failLeavesTheBodysOwnExceptionAndAddsTheLoss() {
        IOException own = new IOException("own");
        runner.run(context -> assertThatThrownBy(
                        () -> context.getBean(Shop.class).failingWith(own))
                .isSameAs(own)
                .satisfies(failure ->
                        assertThat(failure.getSuppressed()).singleElement().isInstanceOf(LockLostException.class)));
    }

    @Test
    void aLossThatTheBodyFoundItselfIsNotAddedToItself() {
        runner.run(context -> assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(context.getBean(Shop.class)::ensuring)
                .satisfies(loss -> assertThat(loss.getSuppressed()).isEmpty()));
    }

    @Test
    void aBodyThatReleasesItsLeaseHasNotLostIt() {
        runner.run(
                context -> assertThat(context.getBean(Shop.class).releasing()).isEqualTo("done"));
    }

    @Test
    void interruptEndsAWaitingBodyAndReplacesItsInterruption() {
        runner.run(context -> assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(context.getBean(Shop.class)::interrupted)
                .satisfies(loss ->
                        assertThat(loss.getSuppressed()).singleElement().isInstanceOf(InterruptedException.class)));
    }

    @Test
    void interruptReplacesAnInterruptionThatTheBodyHasWrapped() {
        runner.run(context -> assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(context.getBean(Shop.class)::wrapping)
                .satisfies(loss ->
                        assertThat(loss.getSuppressed()).singleElement().isInstanceOf(IllegalStateException.class)));
    }

    @Test
    void interruptLeavesAnExceptionThatIsNoInterruption() {
        runner.run(context -> assertThatExceptionOfType(IOException.class)
                .isThrownBy(context.getBean(Shop.class)::interruptedButFailing)
                .withMessage("own")
                .satisfies(failure ->
                        assertThat(failure.getSuppressed()).singleElement().isInstanceOf(LockLostException.class)));
    }

    @Test
    void interruptReplacesTheResultOfABodyThatIgnoresIt() {
        runner.run(context ->
                assertThatExceptionOfType(LockLostException.class).isThrownBy(context.getBean(Shop.class)::ignoring));
    }

    /** The one that callbacks are told is that of the thread which noticed the loss. */
    @Test
    void aStageThatInterruptEndsFailsWithAnExceptionOfItsOwn() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            CompletableFuture<String> stage = shop.stage();

            LockLostException told = shop.told().get(20, TimeUnit.SECONDS);
            assertThat(stage)
                    .failsWithin(Duration.ofSeconds(20))
                    .withThrowableThat()
                    .extracting(Throwable::getCause)
                    .isInstanceOf(LockLostException.class)
                    .isNotSameAs(told)
                    .extracting(Throwable::getCause)
                    .isSameAs(told);
        });
    }

    @Test
    void anInterruptionByOthersStaysWhatItIs() {
        runner.run(context -> assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(context.getBean(Shop.class)::interruptedByOthers)
                .satisfies(failure -> assertThat(failure.getSuppressed()).isEmpty()));
    }

    static class Shop {

        private final LockInspector inspector;
        private final CompletableFuture<LockLostException> told = new CompletableFuture<>();

        Shop(LockInspector inspector) {
            this.inspector = inspector;
        }

        CompletableFuture<LockLostException> told() {
            return told;
        }

        @DistributedLocked("shop")
        String reporting() throws InterruptedException {
            LockedApplication.lose(inspector, "shop");
            return "done";
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.FAIL)
        String failing() throws InterruptedException {
            LockedApplication.lose(inspector, "shop");
            return "done";
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.FAIL)
        void failingWith(IOException own) throws Exception {
            LockedApplication.lose(inspector, "shop");
            throw own;
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.FAIL)
        void ensuring() throws InterruptedException {
            LockedApplication.lose(inspector, "shop");
            LockContext.require().ensureHeld();
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.FAIL)
        String releasing() {
            LockContext.require().release();
            return "done";
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.INTERRUPT)
        CompletableFuture<String> stage() {
            LockContext.require().onLost(told::complete);
            LockedApplication.beginLoss(inspector, "shop");
            return new CompletableFuture<>();
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.INTERRUPT)
        void interrupted() throws InterruptedException {
            LockedApplication.beginLoss(inspector, "shop");
            new CountDownLatch(1).await();
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.INTERRUPT)
        void wrapping() {
            LockedApplication.beginLoss(inspector, "shop");
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException interrupt) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(interrupt);
            }
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.INTERRUPT)
        void interruptedButFailing() throws IOException {
            LockedApplication.beginLoss(inspector, "shop");
            awaitInterrupt();
            throw new IOException("own");
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.INTERRUPT)
        String ignoring() {
            LockedApplication.beginLoss(inspector, "shop");
            awaitInterrupt();
            return "done";
        }

        @DistributedLocked(name = "shop", onLost = LossPolicy.INTERRUPT)
        void interruptedByOthers() throws InterruptedException {
            Thread.currentThread().interrupt();
            new CountDownLatch(1).await();
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
