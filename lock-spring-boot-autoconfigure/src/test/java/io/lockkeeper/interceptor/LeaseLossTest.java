/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.LossPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LeaseLossTest {

    private final LockLostException loss = new LockLostException("shop", 1, Duration.ofSeconds(1), "a test");
    private final List<Consumer<LockLostException>> callbacks = new ArrayList<>();
    private final LockLease lease = mock(LockLease.class);
    private final MethodInvocation body = mock(MethodInvocation.class);

    @BeforeEach
    void heldLease() {
        when(lease.isHeld()).thenReturn(true);
        doAnswer(call -> callbacks.add(call.getArgument(0))).when(lease).onLost(any());
    }

    @SuppressWarnings("DirectInvocationOnMock") // It stands for what the lock is around.
    private @Nullable Object run(LossPolicy policy) throws Throwable {
        CommitGuard.LeaseLoss loss = new CommitGuard.LeaseLoss(lease, policy);
        Object result = loss.run(held -> body.proceed());
        loss.ensureHeld();
        return result;
    }

    @Test
    void noInterruptHitsTheThreadAfterTheBodyHasEnded() throws Throwable {
        when(body.proceed()).thenReturn("done");
        assertThat(run(LossPolicy.INTERRUPT)).isEqualTo("done");
        callbacks.forEach(callback -> callback.accept(loss));
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void anInterruptThatWasThereBeforeTheBodyStays() throws Throwable {
        when(body.proceed()).thenAnswer(call -> {
            callbacks.forEach(callback -> callback.accept(loss));
            return "done";
        });
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> run(LossPolicy.INTERRUPT))
                .isNotSameAs(loss)
                .cause()
                .isSameAs(loss);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptThatTheBodyIgnoredIsTakenBack() throws Throwable {
        when(body.proceed()).thenAnswer(call -> {
            callbacks.forEach(callback -> callback.accept(loss));
            return Thread.currentThread().isInterrupted();
        });
        assertThatThrownBy(() -> run(LossPolicy.INTERRUPT))
                .isNotSameAs(loss)
                .cause()
                .isSameAs(loss);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void aFailureThatCannotTellItsCauseIsThrownAsItIs() throws Throwable {
        IllegalStateException failure = new IllegalStateException("as the test wants it") {
            @Override
            public synchronized Throwable getCause() {
                throw new UnsupportedOperationException("as the test wants it");
            }
        };
        when(body.proceed()).thenAnswer(call -> {
            callbacks.forEach(callback -> callback.accept(loss));
            throw failure;
        });
        assertThatThrownBy(() -> run(LossPolicy.INTERRUPT)).isSameAs(failure);
        assertThat(failure.getSuppressed()).hasSize(1).allMatch(LockLostException.class::isInstance);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void withoutInterruptsNothingIsRegistered() throws Throwable {
        run(LossPolicy.FAIL);
        assertThat(callbacks).isEmpty();
    }
}
