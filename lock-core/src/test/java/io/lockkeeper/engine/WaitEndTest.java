/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A wait ends at its time plus at most 100 ms, whatever the store does, and says whether the store was silent. */
class WaitEndTest {

    private static final Duration WAIT = Duration.ofMillis(500);
    private static final Duration MORE = Duration.ofMillis(100);
    private static final Duration COMMAND_TIMEOUT = RecordingStore.TRAITS.commandTimeout();
    private static final LockRequest WAITING = LockRequest.of("stock").withWaitTime(WAIT);

    private final CohortFixture fixture = new CohortFixture();
    private final RecordingStore store = fixture.store;
    private final ManualTime time = fixture.time;
    private final StorePort port = new StorePort(
            store,
            CohortFixture.INSTANCE,
            time,
            Runnable::run,
            fixture.leases,
            new Instances(store, CohortFixture.INSTANCE));
    private final Acquisitions acquisitions =
            new Acquisitions(port, fixture.times, time, Runnable::run, COMMAND_TIMEOUT, CohortFixture.LEASE_MILLIS, 2);

    @BeforeEach
    void open() {
        port.open(Duration.ofSeconds(30));
    }

    static Stream<LockRequest> requests() {
        return Stream.of(
                WAITING,
                WAITING.withMode(LockMode.FAIR),
                WAITING.withMode(LockMode.READ),
                WAITING.withMode(LockMode.WRITE),
                WAITING.withLeaseTime(Duration.ofSeconds(1)),
                LockRequest.of("stock", "orders").withWaitTime(WAIT));
    }

    @ParameterizedTest
    @MethodSource("requests")
    void callersOfASilentStoreFailInTime(LockRequest request) {
        List<CompletableFuture<HeldLease>> callers =
                Stream.generate(() -> begin(request)).limit(3).toList();

        time.pass(WAIT.minusMillis(1));
        assertThat(callers).noneMatch(CompletableFuture::isDone);
        time.pass(MORE);

        callers.forEach(WaitEndTest::assertSilent);
        assertThat(acquisitions.names()).isLessThanOrEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("requests")
    void aCallerWhoDoesNotWaitGivesASilentStoreTheTimeOfOneCommand(LockRequest request) {
        CompletableFuture<HeldLease> outcome = begin(request.withWaitTime(Duration.ZERO));

        time.pass(COMMAND_TIMEOUT.minusMillis(1));
        assertThat(outcome).isNotDone();
        time.pass(MORE);

        assertFailure(outcome, StoreException.class);
    }

    @Test
    void anAttemptThatNeverQueuesGivesASilentStoreTheTimeOfOneCommand() {
        CompletableFuture<HeldLease> outcome = begin(WAITING.withRetries(3, Duration.ofMillis(100)));

        time.pass(COMMAND_TIMEOUT.plus(MORE));

        assertFailure(outcome, StoreException.class);
    }

    @Test
    void callersWhoWereNotLetInAreRefusedWhereTheStoreIsWell() {
        List<CompletableFuture<HeldLease>> callers = Stream.generate(() -> begin(WAITING.withMode(LockMode.FAIR)))
                .limit(3)
                .toList();
        time.pass(WAIT.minusMillis(100));
        queued();

        time.pass(MORE.plus(MORE));

        callers.forEach(caller -> assertFailure(caller, LockNotAcquiredException.class));
    }

    @Test
    void theAnswerToAnotherQuestionShowsThatTheStoreIsWell() {
        CompletableFuture<HeldLease> waiting = begin(WAITING.withWaitTime(Duration.ofMillis(200)));
        begin(LockRequest.of("other").withWaitTime(WAIT));
        queued();

        time.pass(Duration.ofMillis(200).plus(MORE));

        assertFailure(waiting, LockNotAcquiredException.class);
    }

    @Test
    void aLeaseThatComesInTheLastMomentIsReceived() {
        CompletableFuture<HeldLease> outcome = begin(WAITING);
        time.pass(WAIT.plusMillis(20));

        last(store.acquires).answer(CohortFixture.acquiredReply(100));

        assertThat(outcome).isCompletedWithValueMatching(HeldLease::isHeld);
    }

    @Test
    void aPlaceThatComesInTheLastMomentIsGivenUp() {
        CompletableFuture<HeldLease> outcome = begin(WAITING);
        time.pass(WAIT.plusMillis(20));

        queued();

        assertFailure(outcome, LockNotAcquiredException.class);
        assertThat(last(store.releases).command().attempt())
                .isEqualTo(last(store.acquires).command().attempt());
        assertThat(acquisitions.names()).isZero();
    }

    @Test
    void aLeaseThatComesTooLateIsGivenBack() {
        assertThatNobodyHears(begin(WAITING));

        last(store.acquires).answer(CohortFixture.acquiredReply(100));

        assertThat(last(store.releases).command().attempt())
                .isEqualTo(last(store.acquires).command().attempt());
        assertThat(acquisitions.names()).isZero();
    }

    @Test
    void whatFailsTooLateIsAbandonedNowAndWhenItCannotArriveAnyMore() {
        assertThatNobodyHears(begin(WAITING));

        last(store.acquires).fail();

        assertThat(store.releases).hasSize(1);
        last(store.releases).fail();
        time.pass(COMMAND_TIMEOUT.plusSeconds(1));
        assertThat(store.releases).hasSizeGreaterThan(1);
        assertThat(acquisitions.names()).isZero();
    }

    private void assertThatNobodyHears(CompletableFuture<HeldLease> outcome) {
        time.pass(WAIT.plus(MORE));
        assertSilent(outcome);
    }

    @Test
    void theAttemptGoesOnForLocalCallersWhoStillWait() {
        CompletableFuture<HeldLease> impatient = begin(WAITING);
        CompletableFuture<HeldLease> patient = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        assertThatNobodyHears(impatient);

        last(store.acquires).answer(CohortFixture.acquiredReply(100));

        assertThat(patient).isCompletedWithValueMatching(HeldLease::isHeld);
        assertThat(store.acquires).hasSize(1);
    }

    @Test
    void aCallerInTheQueueIsRefusedInTimeWhereTheStoreIsSilentNow() {
        store.described = new CompletableFuture<>();
        CompletableFuture<HeldLease> outcome = begin(WAITING);
        queued();

        time.pass(WAIT.plus(MORE).minusMillis(1));

        assertFailure(outcome, LockNotAcquiredException.class);
    }

    @Test
    void aCallerWhosePollIsNotAnsweredHearsThatTheStoreIsSilent() {
        CompletableFuture<HeldLease> outcome = begin(WAITING.withWaitTime(Duration.ofSeconds(7)));
        queued();

        time.pass(Duration.ofSeconds(7).plus(MORE));

        assertThat(store.acquires).hasSize(2);
        assertFailure(outcome, StoreException.class);
    }

    @Test
    void aCallerWhoJoinsAHandOverThatIsNotAnsweredFailsInTime() {
        HeldLease held = holds();
        CompletableFuture<HeldLease> next = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        time.pass(Duration.ofMillis(100));
        held.closeAsync();
        CompletableFuture<HeldLease> late = begin(WAITING);
        time.pass(Duration.ofMillis(1));

        time.pass(WAIT.plus(MORE));

        assertSilent(late);
        last(store.handOvers).answer(new HandOverReply(true, CohortFixture.acquiredReply(200)));
        assertThat(next).isCompletedWithValueMatching(HeldLease::isHeld);
    }

    private HeldLease holds() {
        CompletableFuture<HeldLease> outcome = begin(WAITING);
        last(store.acquires).answer(CohortFixture.acquiredReply(100));
        return outcome.join();
    }

    @Test
    void aCallerWaitsForAStoreThatIsNotReadyYet() {
        CompletableFuture<HeldLease> outcome = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        for (int i = 1; i <= 5; i++) {
            assertThat(store.acquires).hasSize(i);
            time.pass(COMMAND_TIMEOUT);
            notReady();
            assertThat(outcome).isNotDone();
            time.pass(Duration.ofSeconds(1));
        }

        last(store.acquires).answer(CohortFixture.acquiredReply(100));

        assertThat(outcome).isCompletedWithValueMatching(HeldLease::isHeld);
        assertThat(store.releases).isEmpty();
    }

    @Test
    void aWaitEndsWhileTheStoreIsNotReady() {
        CompletableFuture<HeldLease> outcome = begin(WAITING.withWaitTime(Duration.ofSeconds(4)));
        time.pass(COMMAND_TIMEOUT);
        notReady();

        time.pass(Duration.ofSeconds(2).plus(MORE));

        assertFailure(outcome, StoreException.class);
    }

    @Test
    void aCallerWhoDoesNotWaitFailsWhereTheStoreIsNotReady() {
        CompletableFuture<HeldLease> outcome = begin(WAITING.withWaitTime(Duration.ZERO));

        notReady();

        assertFailure(outcome, StoreNotReadyException.class);
    }

    private void notReady() {
        last(store.acquires).reply().completeExceptionally(new StoreNotReadyException("not yet", null));
    }

    private CompletableFuture<HeldLease> begin(LockRequest request) {
        return acquisitions.begin(request, false);
    }

    private void queued() {
        last(store.acquires).answer(new AcquireReply.Queued("other1", 20_000, fixture.storeMillis()));
    }

    private static void assertSilent(CompletableFuture<HeldLease> outcome) {
        assertThat(outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(StoreException.class)
                .withMessageContaining("the store has not answered within 500 ms");
    }

    private static void assertFailure(CompletableFuture<HeldLease> outcome, Class<? extends Throwable> type) {
        assertThat(outcome).failsWithin(Duration.ZERO).withThrowableThat().withCauseInstanceOf(type);
    }
}
