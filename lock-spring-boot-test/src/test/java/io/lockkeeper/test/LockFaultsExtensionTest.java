/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Without Spring. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class LockFaultsExtensionTest {

    @RegisterExtension
    static final LockFaultsExtension locks = LockFaultsExtension.inMemory();

    private final LockOperations template = locks.template();

    @Test
    void theHolderOfALostLockKnowsItAtOnce(LockFaults faults) throws Exception {
        LockLease lease = template.acquire("stock");
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        lease.onLost(told::complete);
        faults.lose("stock");
        assertThat(lease.isHeld()).isFalse();
        assertThatThrownBy(lease::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(told.get(20, TimeUnit.SECONDS).name()).isEqualTo("stock");
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(template.tryAcquire("stock")).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aLockThatNobodyHoldsCannotBeLost(LockFaults faults) {
        assertThatThrownBy(() -> faults.lose("free")).hasMessageContaining("'free' is free");
    }

    @Test
    void aLockThatAnotherInstanceHoldsIsBusy(LockFaults faults) {
        try (Outage held = faults.hold("stock")) {
            assertThat(template.tryAcquire("stock")).isEmpty();
            assertThatThrownBy(() -> faults.hold("stock"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("held already");
            CompletableFuture<LockLease> waiting = template.acquireAsync(LockRequest.of("stock"));
            assertThat(waiting).isNotDone();
            held.close();
            assertThat(waiting).succeedsWithin(Duration.ofSeconds(20)).satisfies(LockLease::close);
        }
    }

    @Test
    @Order(1)
    void whatATestBeginsAndDoesNotEnd(LockFaults faults) {
        faults.hold("left over");
        faults.storeDown();
        assertThatThrownBy(() -> template.acquire("stock")).isInstanceOf(LockStoreException.class);
    }

    @Test
    @Order(2)
    void isOverInTheNextTest() {
        assertThat(template.tryAcquire("left over")).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aStoreThatIsDownRefusesAndLosesWhatIsHeld(LockFaults faults) {
        // A name of its own: the store, which hears of no release, keeps the lock for longer than its holder believes.
        LockLease lease = template.acquire("kept");
        try (Outage down = faults.storeDown()) {
            assertThatThrownBy(() -> template.acquire("other"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("switched off by LockFaults");
            assertThat(lease.isHeld()).isTrue();
            Awaitility.await().atMost(Duration.ofSeconds(10)).until(() -> !lease.isHeld());
        }
        assertThat(template.tryAcquire("other")).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aSilentStoreAnswersWithAFailureAfterTheCommandTimeout(LockFaults faults) {
        try (Outage silent = faults.storeSilent()) {
            assertThatThrownBy(() -> template.acquire("stock"))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("no answer within 1000 ms");
        }
    }

    @Test
    void renewalsAloneCanFail(LockFaults faults) {
        LockLease lease = template.acquire("stock");
        try (Outage failing = faults.renewalsFail()) {
            assertThat(template.tryAcquire("other")).hasValueSatisfying(LockLease::close);
            Awaitility.await().atMost(Duration.ofSeconds(10)).until(() -> !lease.isHeld());
        }
    }

    @Test
    @Timeout(5)
    void whereNoAcquisitionWaitsAllAreRefusedAtOnce(LockFaults faults) {
        LockRequest patient = LockRequest.of("stock").withWaitTime(Duration.ofSeconds(10));
        Outage held = faults.hold("stock");
        try (Outage impatient = faults.withoutWaiting()) {
            assertThatThrownBy(() -> template.acquire(patient)).isInstanceOf(LockNotAcquiredException.class);
            assertThatThrownBy(() -> template.run(patient.withMode(LockMode.FAIR), lease -> {}))
                    .isInstanceOf(LockNotAcquiredException.class);
            assertThatThrownBy(() -> template.acquire(patient.withRetries(9, Duration.ofSeconds(1))))
                    .isInstanceOf(LockNotAcquiredException.class);
            assertThatThrownBy(() -> template.lock("stock").lock()).isInstanceOf(LockNotAcquiredException.class);
            assertThat(template.acquireAsync(patient))
                    .failsWithin(Duration.ofSeconds(5))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(LockNotAcquiredException.class);
            held.close();
            try (LockLease lease = template.acquire(patient)) {
                assertThatThrownBy(() -> template.acquireAsync(patient).join())
                        .hasCauseInstanceOf(LockNotAcquiredException.class);
                assertThat(lease.isHeld()).isTrue();
            }
        }
        held = faults.hold("stock");
        CompletableFuture<LockLease> waiting = template.acquireAsync(patient);
        held.close();
        assertThat(waiting).succeedsWithin(Duration.ofSeconds(5)).satisfies(LockLease::close);
    }

    @Test
    void twoTemplatesNeedFaultsOfTheirOwn(LockFaults faults) {
        assertThatThrownBy(() -> faults.watch(new MemoryLockStore()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("one LockFaults for each template");
        assertThatThrownBy(() -> new LockFaults().lose("stock")).hasMessageContaining("watch no store");
    }

    @Test
    void theTemplateIsAParameterToo(LockTemplate parameter) {
        assertThat(parameter).isSameAs(template);
    }

    abstract static class SharedTemplate {

        @RegisterExtension
        static final LockFaultsExtension shared = LockFaultsExtension.inMemory();

        private final LockTemplate template = shared.template();

        @Test
        void locksInEachSubclass() {
            assertThat(template.tryAcquire("stock")).hasValueSatisfying(LockLease::close);
        }
    }

    @Nested
    class FirstSubclass extends SharedTemplate {}

    @Nested
    class SecondSubclass extends SharedTemplate {}
}
