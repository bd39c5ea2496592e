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
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LossWatchTest {

    private final LockLostException loss = new LockLostException("shop", 1, Duration.ofSeconds(1), "a test");
    private final List<Consumer<LockLostException>> callbacks = new ArrayList<>();
    private final LockLease lease = mock(LockLease.class);
    private final MethodInvocation body = mock(MethodInvocation.class);

    @BeforeEach
    void heldLease() {
        when(lease.isHeld()).thenReturn(true);
        doAnswer(call -> callbacks.add(call.getArgument(0))).when(lease).onLost(any());
    }

    @Test
    void noInterruptHitsTheThreadAfterTheBodyHasEnded() throws Throwable {
        when(body.proceed()).thenReturn("done");
        assertThat(new LossWatch(lease, LossPolicy.INTERRUPT).run(body)).isEqualTo("done");
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
        assertThatThrownBy(() -> new LossWatch(lease, LossPolicy.INTERRUPT).run(body))
                .isSameAs(loss);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anInterruptThatTheBodyIgnoredIsTakenBack() throws Throwable {
        when(body.proceed()).thenAnswer(call -> {
            callbacks.forEach(callback -> callback.accept(loss));
            return Thread.currentThread().isInterrupted();
        });
        assertThatThrownBy(() -> new LossWatch(lease, LossPolicy.INTERRUPT).run(body))
                .isSameAs(loss);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void withoutInterruptsNothingIsRegistered() throws Throwable {
        new LossWatch(lease, LossPolicy.FAIL).run(body);
        assertThat(callbacks).isEmpty();
    }
}
