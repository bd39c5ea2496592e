/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockListener;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;

/**
 * Stops the thread that tells of a failed renewal, as a scheduler of threads may: after the renewal has failed, and
 * before any other listener hears of it. The first of all listeners.
 */
final class RenewalGate implements LockListener, Ordered {

    private static final long SECONDS = 60;

    private final CountDownLatch failed = new CountDownLatch(1);
    private final CountDownLatch opened = new CountDownLatch(1);
    private final CountDownLatch told = new CountDownLatch(1);

    /** Returns the application with this gate. */
    ApplicationContextRunner in(ApplicationContextRunner application) {
        return application
                .withBean("renewalGate", RenewalGate.class, () -> this)
                .withConfiguration(AutoConfigurations.of(LastListenerConfiguration.class));
    }

    /** Waits until a renewal has failed, of which the others have not heard. */
    void awaitFailure() {
        await(failed);
    }

    /** Lets the others hear of it, and waits until they have. */
    void open() {
        opened.countDown();
        await(told);
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        failed.countDown();
        await(opened);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(SECONDS, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException interrupt) {
            throw new AssertionError(interrupt);
        }
    }

    /** The last of all listeners: of those without an order, the one that is defined last. */
    @AutoConfiguration(after = LockkeeperHealthAutoConfiguration.class)
    static class LastListenerConfiguration {

        @Bean
        LockListener lastListener(RenewalGate gate) {
            return new LockListener() {
                @Override
                public void onRenewalFailed(RenewalFailed event) {
                    gate.told.countDown();
                }
            };
        }
    }
}
