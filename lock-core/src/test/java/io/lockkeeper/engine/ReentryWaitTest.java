/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.REQUEST;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.SimulatedOwner;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How long a request waits that extends what its caller holds, and then acquires the rest. */
class ReentryWaitTest {

    private static final Duration COMMAND = RecordingStore.TRAITS.commandTimeout();
    private static final Duration LONGER = Duration.ofSeconds(60);

    private final EngineFixture fixture = new EngineFixture();
    private final SimulatedOwner owner = new SimulatedOwner(new LeaseManager(fixture.manager, () -> {}, () -> {}));

    @BeforeEach
    void hold() {
        CompletableFuture<LockLease> held = owner.enter(REQUEST.withLeaseTime(Duration.ofSeconds(20)));
        fixture.acquired(100);
        owner.inside(held.join());
    }

    @Test
    void oneWhoDoesNotWaitHasOneCommandTimeoutForBoth() {
        LockRequest both = LockRequest.of("stock", "other").withWaitTime(Duration.ZERO);
        CompletableFuture<LockLease> inner = owner.enter(both.withLeaseTime(LONGER));
        Duration extension = COMMAND.minusMillis(100);
        fixture.time.pass(extension);
        last(fixture.store.renewals).answer(true);
        assertThat(last(fixture.store.acquires).command().names()).containsExactly("other");
        assertThat(inner).isNotDone();

        fixture.time.pass(COMMAND.minus(extension).plusMillis(100));

        EngineFixture.assertFailure(inner, LockStoreException.class);
    }

    @Test
    void anExtensionThatIsNeverAnsweredFailsThoughItsCallerWaitsWithoutLimit() {
        CompletableFuture<LockLease> inner = owner.enter(REQUEST.withLeaseTime(LONGER));

        fixture.time.pass(COMMAND.multipliedBy(2).plusMillis(1_100));

        EngineFixture.assertFailure(inner, LockStoreException.class);
    }
}
