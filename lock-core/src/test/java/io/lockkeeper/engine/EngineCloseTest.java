/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** No caller is left waiting for an engine that has closed. */
class EngineCloseTest {

    private static final LockRequest HELD_BY_OTHERS = LockRequest.of("orders").withWaitTime(Duration.ofMinutes(1));

    private final MemoryLockStore store = new MemoryLockStore();
    private final CohortLockEngine engine = engine(store);
    private final CohortLockEngine other = engine(store.peer());

    @Test
    void aCallerWhoHoldsALockAndWaitsForAnotherIsRefusedWhenTheTimeToFinishIsOver() {
        LockLease theirs = other.acquire(HELD_BY_OTHERS);
        AtomicReference<Thread> caller = new AtomicReference<>();
        CompletableFuture<LockLease> nested = CompletableFuture.supplyAsync(() -> {
            engine.lock(LockRequest.of("stock").withWaitTime(Duration.ZERO), true);
            caller.set(Thread.currentThread());
            return engine.acquire(HELD_BY_OTHERS);
        });
        Awaitility.await().until(() -> caller.get() != null && caller.get().getState() == Thread.State.WAITING);

        engine.close();

        assertThat(nested)
                .failsWithin(Duration.ofSeconds(5))
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class);
        assertThat(theirs.isHeld()).isTrue();
        other.close();
    }

    private static CohortLockEngine engine(MemoryLockStore store) {
        return CohortLockEngine.open(store, CohortFixture.settings(new Events()), TimeSource.SYSTEM);
    }
}
