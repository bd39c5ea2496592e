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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A wait ends at its time plus at most 100 ms, whatever the store does, and says whether the store was silent. */
class WaitEndTest {

    private static final Duration WAIT = Duration.ofMillis(500);
    private static final Duration MORE = Duration.ofMillis(100);
    private static final Duration ROUND_TRIP = Duration.ofMillis(1_100);
    private static final Duration COMMAND_TIMEOUT = RecordingStore.TRAITS.commandTimeout();
    private static final LockRequest WAITING = LockRequest.of("stock").withWaitTime(WAIT);

    private final EngineFixture fixture = new EngineFixture();
    private final RecordingStore store = fixture.store;
    private final ManualTime time = fixture.time;

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
        List<PendingRequest> callers =
                Stream.generate(() -> begin(request)).limit(3).toList();

        time.pass(WAIT.minusMillis(1));
        assertThat(callers).noneMatch(CompletableFuture::isDone);
        time.pass(MORE);

        callers.forEach(WaitEndTest::assertSilent);
        assertThat(fixture.manager.toString()).matches("held=0, names=[01]");
    }

    @ParameterizedTest
    @MethodSource("requests")
    void aCallerWhoDoesNotWaitGivesASilentStoreTheTimeOfOneCommand(LockRequest request) {
        PendingRequest outcome = begin(request.withWaitTime(Duration.ZERO));

        time.pass(COMMAND_TIMEOUT.minusMillis(1));
        assertThat(outcome).isNotDone();
        time.pass(MORE);

        EngineFixture.assertFailure(outcome, StoreException.class);
    }

    @Test
    void anAttemptThatNeverQueuesGivesASilentStoreTheTimeOfOneCommand() {
        PendingRequest outcome = begin(WAITING.withRetries(3, Duration.ofMillis(100)));

        time.pass(COMMAND_TIMEOUT.plus(MORE));

        EngineFixture.assertFailure(outcome, StoreException.class);
    }

    @Test
    void callersWhoWereNotLetInAreRefusedWhereTheStoreIsWell() {
        List<PendingRequest> callers = Stream.generate(() -> begin(WAITING.withMode(LockMode.FAIR)))
                .limit(3)
                .toList();
        time.pass(WAIT.minusMillis(100));
        queued();

        time.pass(MORE.plus(MORE));

        callers.forEach(caller -> EngineFixture.assertFailure(caller, LockNotAcquiredException.class));
    }

    @ParameterizedTest
    @MethodSource("requests")
    void aSlowStoreThatGivesNoPlaceIsNotSilent(LockRequest request) {
        PendingRequest outcome = begin(request.withWaitTime(Duration.ofMillis(3_100)));
        for (int i = 0; i < 2; i++) {
            time.pass(ROUND_TRIP);
            last(store.acquires).answer(new AcquireReply.Busy(""));
            time.pass(Duration.ofMillis(100));
        }

        time.pass(Duration.ofMillis(700).plus(MORE));

        assertThat(store.acquires).hasSize(3);
        EngineFixture.assertFailure(outcome, LockNotAcquiredException.class);
    }

    @Test
    void aCallerInTheQueueWaitsOnWhereAnAnswerComesAfterTheEndOfItsLease() {
        PendingRequest outcome = begin(LockRequest.of("stock", "orders").withWaitTime(Duration.ofSeconds(60)));
        time.pass(ROUND_TRIP);
        queued();
        fixture.granted(100);
        time.pass(ROUND_TRIP);
        last(store.acquires).answer(new AcquireReply.Acquired(900, List.of(100L, 101L)));
        assertThat(store.releases).hasSize(1);
        assertThat(outcome).isNotDone();

        time.pass(Duration.ofSeconds(1));
        last(store.acquires).answer(new AcquireReply.Acquired(EngineFixture.LEASE_MILLIS, List.of(200L, 201L)));

        assertThat(outcome).isCompletedWithValueMatching(ManagedLease::isHeld);
    }

    @Test
    void aSlowStoreThatIsAskedForTheNextFairCallerIsNotSilent() {
        List<PendingRequest> callers = Stream.generate(
                        () -> begin(WAITING.withMode(LockMode.FAIR).withWaitTime(Duration.ofSeconds(3))))
                .limit(3)
                .toList();
        for (int i = 1; i <= 2; i++) {
            assertThat(store.acquires).hasSize(i);
            time.pass(ROUND_TRIP);
            queued();
        }

        time.pass(Duration.ofMillis(800).plus(MORE));

        callers.forEach(caller -> EngineFixture.assertFailure(caller, LockNotAcquiredException.class));
    }

    @Test
    void aSlowStoreThatIsAskedByAHandOverIsNotSilent() {
        PendingRequest first = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        time.pass(ROUND_TRIP);
        fixture.acquired(100);
        begin(LockRequest.of("other").withWaitTime(Duration.ofSeconds(60)));
        time.pass(ROUND_TRIP.minusMillis(100));
        PendingRequest next = begin(WAITING.withWaitTime(Duration.ofSeconds(1)));
        time.pass(Duration.ofMillis(100));
        queued();
        time.pass(Duration.ofMillis(100));
        first.join().closeAsync();

        time.pass(Duration.ofMillis(800).plus(MORE));

        assertThat(store.handOvers).hasSize(1);
        EngineFixture.assertFailure(next, LockNotAcquiredException.class);
    }

    @Test
    void theAnswerToAnotherQuestionShowsThatTheStoreIsWell() {
        PendingRequest waiting = begin(WAITING.withWaitTime(Duration.ofMillis(200)));
        begin(LockRequest.of("other").withWaitTime(WAIT));
        queued();

        time.pass(Duration.ofMillis(200).plus(MORE));

        EngineFixture.assertFailure(waiting, LockNotAcquiredException.class);
    }

    @Test
    void aLeaseThatComesInTheLastMomentIsReceived() {
        PendingRequest outcome = begin(WAITING);
        time.pass(WAIT.plusMillis(20));

        fixture.acquired(100);

        assertThat(outcome).isCompletedWithValueMatching(ManagedLease::isHeld);
    }

    /** The timer and the periodic look both find the time up, before the one of them has prolonged it by a moment. */
    @Test
    void aLeaseThatComesInTheLastMomentIsReceivedWhereThreadsAreLate() {
        PendingRequest outcome = begin(WAITING);
        List<Runnable> background = new ArrayList<>();
        fixture.background = background::add;
        time.pass(WAIT);
        background.forEach(Runnable::run);

        fixture.acquired(100);

        assertThat(outcome).isCompletedWithValueMatching(ManagedLease::isHeld);
    }

    @Test
    void aPlaceThatComesInTheLastMomentIsGivenUp() {
        PendingRequest outcome = begin(WAITING);
        time.pass(WAIT.plusMillis(20));

        queued();

        EngineFixture.assertFailure(outcome, LockNotAcquiredException.class);
        assertThat(last(store.releases).command().attempt())
                .isEqualTo(last(store.acquires).command().attempt());
        fixture.assertEmpty();
    }

    @Test
    void aLeaseThatComesTooLateIsGivenBack() {
        assertThatNobodyHears(begin(WAITING));

        fixture.acquired(100);

        assertThat(last(store.releases).command().attempt())
                .isEqualTo(last(store.acquires).command().attempt());
        fixture.assertEmpty();
    }

    @Test
    void whatFailsTooLateIsAbandonedNowAndWhenItCannotArriveAnyMore() {
        assertThatNobodyHears(begin(WAITING));

        last(store.acquires).fail();

        assertThat(store.releases).hasSize(1);
        last(store.releases).fail();
        time.pass(COMMAND_TIMEOUT.plusSeconds(1));
        assertThat(store.releases).hasSizeGreaterThan(1);
        fixture.assertEmpty();
    }

    private void assertThatNobodyHears(PendingRequest outcome) {
        time.pass(WAIT.plus(MORE));
        assertSilent(outcome);
    }

    @Test
    void theAttemptGoesOnForLocalCallersWhoStillWait() {
        PendingRequest impatient = begin(WAITING);
        PendingRequest patient = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        assertThatNobodyHears(impatient);

        fixture.acquired(100);

        assertThat(patient).isCompletedWithValueMatching(ManagedLease::isHeld);
        assertThat(store.acquires).hasSize(1);
    }

    @Test
    void aCallerInTheQueueIsRefusedInTimeWhereTheStoreIsSilentNow() {
        store.described = new CompletableFuture<>();
        PendingRequest outcome = begin(WAITING);
        queued();

        time.pass(WAIT.plus(MORE).minusMillis(1));

        EngineFixture.assertFailure(outcome, LockNotAcquiredException.class);
    }

    @Test
    void aCallerWhosePollIsNotAnsweredHearsThatTheStoreIsSilent() {
        PendingRequest outcome = begin(WAITING.withWaitTime(Duration.ofSeconds(7)));
        queued();

        time.pass(Duration.ofSeconds(7).plus(MORE));

        assertThat(store.acquires).hasSize(2);
        EngineFixture.assertFailure(outcome, StoreException.class);
    }

    @Test
    void aCallerWhoJoinsAHandOverThatIsNotAnsweredFailsInTime() {
        ManagedLease held = holds();
        PendingRequest next = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        time.pass(Duration.ofMillis(100));
        held.closeAsync();
        PendingRequest late = begin(WAITING);
        time.pass(Duration.ofMillis(1));

        time.pass(WAIT.plus(MORE));

        assertSilent(late);
        last(store.handOvers).answer(new HandOverReply(true, EngineFixture.acquiredReply(200)));
        assertThat(next).isCompletedWithValueMatching(ManagedLease::isHeld);
    }

    private ManagedLease holds() {
        PendingRequest outcome = begin(WAITING);
        fixture.acquired(100);
        return outcome.join();
    }

    @Test
    void aCallerWaitsForAStoreThatIsNotReadyYet() {
        PendingRequest outcome = begin(WAITING.withWaitTime(Duration.ofSeconds(60)));
        for (int i = 1; i <= 5; i++) {
            assertThat(store.acquires).hasSize(i);
            time.pass(COMMAND_TIMEOUT);
            notReady();
            assertThat(outcome).isNotDone();
            time.pass(Duration.ofSeconds(1));
        }

        fixture.acquired(100);

        assertThat(outcome).isCompletedWithValueMatching(ManagedLease::isHeld);
        assertThat(store.releases).isEmpty();
    }

    @Test
    void aWaitEndsWhileTheStoreIsNotReady() {
        PendingRequest outcome = begin(WAITING.withWaitTime(Duration.ofSeconds(4)));
        time.pass(COMMAND_TIMEOUT);
        notReady();

        time.pass(Duration.ofSeconds(2).plus(MORE));

        EngineFixture.assertFailure(outcome, StoreException.class);
    }

    @Test
    void aCallerWhoDoesNotWaitFailsWhereTheStoreIsNotReady() {
        PendingRequest outcome = begin(WAITING.withWaitTime(Duration.ZERO));

        notReady();

        EngineFixture.assertFailure(outcome, StoreNotReadyException.class);
    }

    private void notReady() {
        last(store.acquires).reply().completeExceptionally(new StoreNotReadyException("not yet", null));
    }

    private PendingRequest begin(LockRequest request) {
        return fixture.begin(request);
    }

    private void queued() {
        fixture.queued();
    }

    private static void assertSilent(CompletableFuture<?> outcome) {
        assertThat(outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(StoreException.class)
                .withMessageContaining("the store has not answered within 500 ms");
    }
}
