/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.CohortFixture.leaseOf;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The readers of one JVM: who shares a hold, who does not, and when it ends. */
class CohortReadersTest {

    private static final LockRequest READ = LockRequest.of("stock").withMode(LockMode.READ);

    private final CohortFixture fixture = new CohortFixture();
    private final FakePort port = fixture.port;
    private final Cohort readers =
            fixture.cohort(Claim.renewed(List.of("stock"), ClaimMode.READ, CohortFixture.LEASE_MILLIS, 0));

    private Waiter enters(boolean waits) {
        Waiter waiter = new Waiter(READ, waits, false, fixture.time.now());
        assertThat(readers.enter(waiter)).isTrue();
        return waiter;
    }

    private boolean isAdmitted() {
        return readers.enter(new Waiter(READ, true, false, fixture.time.now()));
    }

    private void acquired(long token) {
        FakePort.Asked question = last(port.asked);
        readers.answered(question.attempt(), question.sent(), CohortFixture.acquiredReply(token));
    }

    @Test
    void allWhoWaitGetTheHoldTogetherAndTheLastReleasesIt() {
        Waiter first = enters(true);
        Waiter second = enters(true);
        Waiter trying = enters(false);
        acquired(100);

        for (Waiter reader : List.of(first, second, trying)) {
            assertThat(leaseOf(reader).isHeld()).isTrue();
            assertThat(leaseOf(reader).fencingToken()).isEqualTo(100);
        }
        assertThat(leaseOf(first).release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(leaseOf(trying).release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(leaseOf(first).release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(port.releases).isEmpty();
        assertThat(leaseOf(second).isHeld()).isTrue();
        assertThat(leaseOf(second).release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(port.releases).hasSize(1);
        assertThat(port.watched).hasSize(1);
        assertThat(port.tracked).isEmpty();
        assertThat(fixture.retirements).isEqualTo(1);
    }

    @Test
    void othersJoinForAWhileWithoutARequest() {
        enters(true);
        acquired(100);
        fixture.time.pass(CohortFixture.MAX_PASS_TIME.minusMillis(1));
        assertThat(leaseOf(enters(false)).fencingToken()).isEqualTo(100);
        assertThat(port.asked).hasSize(1);

        fixture.time.pass(Duration.ofMillis(1));

        assertThat(isAdmitted()).isFalse();
    }

    @Test
    void nobodyJoinsWhenSomebodyElseWaits() {
        enters(true);
        acquired(100);

        readers.closeToJoiners();

        assertThat(isAdmitted()).isFalse();
    }

    @Test
    void nobodyJoinsAHoldThatIsOver() {
        Waiter first = enters(true);
        acquired(100);
        leaseOf(first).release();

        assertThat(isAdmitted()).isFalse();
    }

    @Test
    void aLossIsThatOfAllReaders() {
        Waiter first = enters(true);
        Waiter second = enters(true);
        acquired(100);

        fixture.leases.lose(leaseOf(first).tenure(), "the store says that it ended");

        assertThat(leaseOf(first).isHeld()).isFalse();
        assertThat(leaseOf(second).isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(2);
        assertThat(leaseOf(second).release()).isEqualTo(ReleaseResult.LOST);
        assertThat(last(fixture.store.releases).command().names()).containsExactly("stock");
    }

    @Test
    void aReaderWhoLeftBeforeTheAnswerHoldsNothing() {
        Waiter gone = enters(true);
        Waiter stays = enters(true);
        gone.outcome.cancel(false);
        readers.leave(gone, Runnable::run, new CompletableFuture<>());
        acquired(100);

        leaseOf(stays).release();

        assertThat(port.releases).hasSize(1);
        assertThat(fixture.leases.size()).isZero();
    }

    @Test
    void anExtensionLimitsOneReaderOnly() {
        Waiter first = enters(true);
        Waiter second = enters(true);
        acquired(100);
        HeldLease limited = leaseOf(first);
        fixture.store.uponRenewal = sent -> sent.answer(true);

        assertThat(limited.extend(Duration.ofSeconds(5))).isTrue();
        assertThat(limited.remaining()).isEqualTo(Duration.ofSeconds(5));
        assertThat(leaseOf(second).remaining()).isGreaterThan(Duration.ofSeconds(29));
        fixture.time.pass(Duration.ofSeconds(5));

        assertThat(fixture.events.lost).hasSize(1);
        assertThat(limited.isHeld()).isFalse();
        assertThat(leaseOf(second).isHeld()).isTrue();
        assertThat(port.releases).isEmpty();
        leaseOf(second).release();
        assertThat(port.releases).hasSize(1);
    }

    @Test
    void theLastReaderWhoseOwnLeaseEndsFreesTheLock() {
        Waiter first = enters(true);
        acquired(100);
        fixture.store.uponRenewal = sent -> sent.answer(true);
        leaseOf(first).extend(Duration.ofSeconds(5));

        fixture.time.pass(Duration.ofSeconds(5));

        assertThat(port.releases).hasSize(1);
        assertThat(leaseOf(first).release()).isEqualTo(ReleaseResult.LOST);
    }

    @Test
    void readersWhoWaitBehindAWriterEnterTogether() {
        Waiter first = enters(true);
        readers.answered(
                last(port.asked).attempt(),
                fixture.time.now(),
                new AcquireReply.Queued("writer", 20_000, fixture.storeMillis()));
        Waiter second = enters(true);
        assertThat(second.outcome).isNotDone();

        readers.granted(fixture.grant(last(port.asked).attempt(), 100));

        assertThat(leaseOf(first).isHeld()).isTrue();
        assertThat(leaseOf(second).isHeld()).isTrue();
        assertThat(port.asked).hasSize(1);
    }
}
