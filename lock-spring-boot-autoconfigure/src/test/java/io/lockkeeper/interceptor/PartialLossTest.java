/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several names, of which the thread held some before: the loss of one is the loss of all. */
@Timeout(60)
class PartialLossTest {

    @Test
    void theLossOfOneNameFailsTheBodyThatNeedsBoth() {
        runner().withBean(Shop.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.outer(shop)).isEqualTo("lost b");
            assertThat(context.getBean(LockTemplate.class).lock("a").isLocked()).isFalse();
        });
    }

    @Test
    void theLossOfOneNameFailsTheStageThatNeedsBoth() {
        runner().withBean(Shop.class).run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.outerOfStage(shop)).isEqualTo("lost b");
        });
    }

    static class Shop {

        private final LockInspector inspector;

        Shop(LockInspector inspector) {
            this.inspector = inspector;
        }

        @DistributedLocked("a")
        public String outer(Shop self) {
            assertThatExceptionOfType(LockLostException.class).isThrownBy(self::inner);
            assertThat(LockContext.require().isHeld()).isTrue();
            return "lost b";
        }

        @DistributedLocked("a")
        public String outerOfStage(Shop self) throws InterruptedException {
            assertThat(self.stage())
                    .failsWithin(Duration.ofSeconds(20))
                    .withThrowableThat()
                    .withCauseInstanceOf(LockLostException.class);
            return "lost b";
        }

        @DistributedLocked(
                name = {"a", "b"},
                onLost = LossPolicy.FAIL)
        public void inner() throws InterruptedException {
            LockedApplication.lose(inspector, "b");
        }

        @DistributedLocked(
                name = {"a", "b"},
                onLost = LossPolicy.FAIL)
        public CompletableFuture<String> stage() throws InterruptedException {
            LockedApplication.lose(inspector, "b");
            return CompletableFuture.completedFuture("done");
        }
    }
}
