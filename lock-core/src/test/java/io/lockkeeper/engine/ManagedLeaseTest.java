/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.BELIEVED;
import static io.lockkeeper.engine.EngineFixture.REQUEST;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener.Acquired;
import io.lockkeeper.LockListener.Way;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What a lease says of itself, what its holder can do with it, and who is told of its end. */
class ManagedLeaseTest {

    private static final LockRequest READ = REQUEST.withMode(LockMode.READ);

    private final EngineFixture fixture = new EngineFixture();
    private final RecordingStore store = fixture.store;
    private final ManualTime time = fixture.time;
    private final List<LockLostException> told = new ArrayList<>();

    // ---- release ----

    @Test
    void onlyTheFirstReleaseCounts() {
        ManagedLease lease = fixture.holds(100);
        CompletableFuture<ReleaseResult> released = lease.closeAsync();
        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);

        last(store.releases).answer(ReleaseReply.RELEASED);

        assertThat(released).isCompletedWithValue(ReleaseResult.RELEASED);
        assertThat(lease.remaining()).isZero();
        assertThat(fixture.events.released).hasSize(1);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lease::ensureHeld)
                .withMessageEndingWith("it was released");
        assertThat(store.releases).hasSize(1);
        fixture.assertEmpty();
    }

    @Test
    void aBlockedReleaseReturnsWhatTheStoreAnswers() {
        ManagedLease lease = fixture.holds(100);
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);

        assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    void aReleaseThatIsNotWaitedForIsUnknownAfterTheTimeOfOneCommand() {
        CompletableFuture<ReleaseResult> released = fixture.holds(100).closeAsync();
        time.pass(RecordingStore.TRAITS.commandTimeout());
        assertThat(released)
                .as("a driver that ends its command in time has a moment to say so")
                .isNotDone();

        time.pass(Duration.ofMillis(100));

        assertThat(released).isCompletedWithValue(ReleaseResult.UNKNOWN);
        last(store.releases).answer(ReleaseReply.RELEASED);
        fixture.assertEmpty();
        assertThat(fixture.events.released).hasSize(1);
    }

    /** A listener that blocks must cost no other lock its timer. */
    @Test
    void listenersHearOfAReleaseThatWasNotAnsweredInTheBackground() {
        CompletableFuture<ReleaseResult> released = fixture.holds(100).closeAsync();
        List<Runnable> background = new ArrayList<>();
        fixture.background = background::add;
        time.pass(RecordingStore.TRAITS.commandTimeout().plusMillis(100));
        assertThat(fixture.events.released).isEmpty();

        List.copyOf(background).forEach(Runnable::run);

        assertThat(fixture.events.released).hasSize(1);
        assertThat(released).isCompletedWithValue(ReleaseResult.UNKNOWN);
    }

    @Test
    void aReleaseOfWhatTheStoreDoesNotKnowIsALoss() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        CompletableFuture<ReleaseResult> released = lease.closeAsync();

        last(store.releases).answer(ReleaseReply.NOT_HELD);

        assertThat(released).isCompletedWithValue(ReleaseResult.LOST);
        assertThat(fixture.events.lost).hasSize(1);
        assertThat(told).hasSize(1);
    }

    @Test
    void theLockStaysTakenForTheRestOfTheMinimumHoldTime() {
        ManagedLease lease = fixture.holds(REQUEST.withMinHoldTime(Duration.ofSeconds(2)), 100);
        time.pass(Duration.ofMillis(500));

        lease.closeAsync();

        assertThat(last(store.releases).command().keepMillis()).isEqualTo(1_500);
    }

    @Test
    void aLeaseThatNoOneReceivedKeepsNothing() {
        PendingRequest caller = fixture.begin(REQUEST.withMinHoldTime(Duration.ofSeconds(2)));
        fixture.acquired(100);

        caller.join().giveBack();

        assertThat(last(store.releases).command().keepMillis()).isZero();
        assertThat(fixture.events.released).isEmpty();
    }

    @Test
    void aLeaseOfSeveralLocksHasATokenForEach() {
        PendingRequest caller = fixture.begin(LockRequest.of("b", "a").withWaitTime(EngineFixture.FOREVER));
        last(store.acquires).answer(new AcquireReply.Acquired(EngineFixture.LEASE_MILLIS, List.of(5L, 9L)));

        ManagedLease lease = fixture.received(caller);

        assertThat(lease.fencingToken("a")).isEqualTo(5);
        assertThat(lease.fencingToken("b")).isEqualTo(lease.fencingToken()).isEqualTo(9);
        assertThatIllegalArgumentException().isThrownBy(() -> lease.fencingToken("c"));
    }

    // ---- loss ----

    @Test
    void aLossIsToldOnceAndAtOnceToWhoAsksLater() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);

        lose(lease);
        lose(lease);

        assertThat(told).singleElement().satisfies(loss -> assertThat(loss)
                .hasMessageContaining("it was taken away by force"));
        assertThat(fixture.events.lost).hasSize(1);
        lease.onLost(told::add);
        assertThat(told).hasSize(2);
        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        fixture.assertEmpty();
    }

    @Test
    void noOneIsToldOfALossAfterTheRelease() {
        ManagedLease lease = fixture.holds(100);
        String attempt = lease.hold().attempt();
        lease.onLost(told::add);
        lease.closeAsync();

        fixture.manager.revoked(attempt);

        assertThat(told).isEmpty();
        assertThat(fixture.events.lost).isEmpty();
    }

    @Test
    void aCallbackThatWasTakenBackIsNotCalled() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        Consumer<LockLostException> other = told::add;
        lease.onLost(other);
        lease.forget(other);

        lose(lease);

        assertThat(told).hasSize(1);
    }

    @Test
    void aCallbackThatCannotBeComparedIsTakenBack() {
        ManagedLease lease = fixture.holds(100);
        Consumer<LockLostException> strange = new Consumer<>() {
            @Override
            public void accept(LockLostException loss) {
                told.add(loss);
            }

            @Override
            public boolean equals(@Nullable Object other) {
                throw new IllegalStateException("of the caller");
            }

            @Override
            public int hashCode() {
                return 1;
            }
        };
        lease.onLost(strange);
        lease.forget(strange);

        lose(lease);

        assertThat(told).isEmpty();
    }

    @Test
    void aCallbackThatThrowsDoesNotKeepOthersFromHearing() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(loss -> {
            throw new IllegalStateException("of the caller");
        });
        lease.onLost(told::add);

        lose(lease);

        assertThat(told).hasSize(1);
    }

    @Test
    void eachThrowHasItsOwnExceptionWithTheLossAsItsCause() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        lose(lease);

        Throwable first = thrownBy(lease);
        Throwable second = thrownBy(lease);

        assertThat(first)
                .isNotSameAs(second)
                .hasCause(told.get(0))
                .hasMessage(told.get(0).getMessage());
        assertThat(second).hasCause(told.get(0));
        assertThat(first.getStackTrace()[0].getMethodName()).isEqualTo("ensureHeld");
    }

    private static Throwable thrownBy(ManagedLease lease) {
        return catchThrowable(lease::ensureHeld);
    }

    /** Who only looks changes nothing: the renewer tells the loss, within 100 ms. */
    @Test
    void whoLooksAtALeaseAfterItsDeadlineSeesItsEndAndTellsNoOne() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        time.passUnnoticed(BELIEVED);

        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThatThrownBy(lease::ensureHeld)
                .isInstanceOf(LockLostException.class)
                .hasMessageEndingWith("its lease ended before it was renewed");
        assertThat(told).isEmpty();

        time.pass(Duration.ofMillis(100));
        assertThat(told).hasSize(1);
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), lease.hold().attempt(), 0, 0));
    }

    @Test
    void aReleaseAfterTheDeadlineTellsTheLoss() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        time.passUnnoticed(BELIEVED);

        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);

        assertThat(told).hasSize(1);
        assertThat(fixture.events.lost).hasSize(1);
        assertThat(last(store.releases).command())
                .isEqualTo(new ReleaseCommand(List.of("stock"), lease.hold().attempt(), 0, 0));
        fixture.assertEmpty();
    }

    @Test
    void aLeaseIsOverAtItsDeadlineOnTheWallClockTooAndStaysSo() {
        ManagedLease lease = fixture.holds(100);
        time.jumpWall(BELIEVED.minusMillis(1));
        assertThat(lease.isHeld()).isTrue();
        time.jumpWall(Duration.ofMillis(1));
        assertThat(lease.isHeld()).isFalse();

        time.jumpWall(BELIEVED.negated());

        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void aLossBeforeTheCallerReceivedItsLeaseIsToldWhenItReceivesIt() {
        PendingRequest caller = fixture.begin(REQUEST);
        fixture.acquired(100);
        ManagedLease lease = caller.join();
        lose(lease);
        assertThat(fixture.events.lost).isEmpty();

        fixture.received(caller);

        assertThat(fixture.events.lost).hasSize(1);
        lease.onLost(told::add);
        assertThat(told).hasSize(1);
    }

    /** The loss came between the decision to pass the hold on and the grant. */
    @Test
    void aLossThatMeetsAPassIsToldToTheNextHolder() {
        ManagedLease first = fixture.holds(100);
        PendingRequest next = fixture.begin(REQUEST);
        StoreHold hold = first.hold();
        lose(first);

        ManagedLease passed = fixture.manager.lease(new LockAction.Grant(next, hold, 101, Way.PASS));
        passed.onLost(told::add);

        assertThat(passed.isHeld()).isFalse();
        assertThat(told).hasSize(1);
    }

    @Test
    void aLeaseThatEndsAsItsCallerAskedIsNoWarning() {
        Logger logger = (Logger) LoggerFactory.getLogger(LockLease.class);
        Level level = logger.getLevel();
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.setLevel(Level.INFO);
        logger.setAdditive(false);
        logger.addAppender(lines);
        try {
            fixture.holds(REQUEST.withLeaseTime(Duration.ofSeconds(5)), 100);
            time.pass(Duration.ofSeconds(5));
            fixture.holds(200);
            time.pass(BELIEVED);

            assertThat(lines.list).extracting(ILoggingEvent::getLevel).containsExactly(Level.INFO, Level.WARN);
            assertThat(fixture.events.lost).hasSize(2);
        } finally {
            logger.detachAppender(lines);
            logger.setAdditive(true);
            logger.setLevel(level);
        }
    }

    @Test
    void aFixedLeaseThatCameByAMessageIsLostWhereTheStoreDoesNotGiveTheRestOfItsTime() {
        PendingRequest caller = fixture.begin(REQUEST.withLeaseTime(Duration.ofSeconds(20)));
        fixture.queued();
        fixture.granted(100);
        ManagedLease lease = fixture.received(caller);
        lease.onLost(told::add);

        time.pass(Duration.ofMillis(EngineFixture.GRANT_MILLIS));

        assertThat(told).extracting(LockLostException::reason).containsExactly(StoreHold.NOT_RENEWED);
        assertThat(lease.hasEndedAsAsked()).isFalse();
    }

    // ---- verify and extend ----

    @Test
    void aLeaseThatTheStoreDoesNotConfirmIsLost() {
        ManagedLease lease = fixture.holds(100);
        store.stored = Optional.of(RecordingStore.ownedBy(lease.hold().attempt()));
        assertThat(lease.verify()).isTrue();

        store.stored = Optional.of(RecordingStore.ownedBy("other1"));

        assertThat(lease.verify()).isFalse();
        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void anExtensionGivesALeaseAFixedEnd() {
        ManagedLease lease = fixture.holds(100);
        store.uponRenewal = sent -> sent.answer(true);

        assertThat(lease.extend(Duration.ofSeconds(60))).isTrue();

        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(60));
        assertThat(last(store.renewals).command().leaseMillis()).isEqualTo(60_600);
        time.pass(Duration.ofMillis(59_999));
        assertThat(lease.isHeld()).isTrue();
        time.pass(Duration.ofMillis(1));
        assertThat(lease.isHeld()).isFalse();
        assertThat(store.renewals).hasSize(1);
    }

    @Test
    void anExtensionThatTheStoreRefusesShowsTheLoss() {
        ManagedLease lease = fixture.holds(100);
        store.uponRenewal = sent -> sent.answer(false);

        assertThat(lease.extend(Duration.ofSeconds(60))).isFalse();

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void anExtensionThatIsNotAnsweredLeavesTheLeaseHeld() {
        ManagedLease lease = fixture.holds(100);
        store.uponRenewal = RecordingStore.Sent::fail;

        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(60))).isInstanceOf(LockStoreException.class);

        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.hold().fixedEnd()).isNull();
    }

    @Test
    void anExtensionThatIsAnsweredAfterTheWaitOfItsCallerHasNoEffect() {
        ManagedLease lease = fixture.holds(REQUEST.withLeaseTime(Duration.ofSeconds(5)), 100);
        LockRequest impatient = REQUEST.withWaitTime(Duration.ofMillis(50));
        CompletableFuture<Boolean> extended = lease.extendAsync(Duration.ofSeconds(60), impatient);
        time.pass(Duration.ofMillis(99));
        assertThat(extended).isNotDone();

        time.pass(Duration.ofMillis(1));
        EngineFixture.assertFailure(extended, StoreException.class);
        last(store.renewals).answer(true);

        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.remaining()).isEqualTo(Duration.ofMillis(4_900));
    }

    /** No one waits for the answer any more, but what it says of the lock is true. */
    @Test
    void anExtensionThatIsRefusedAfterTheWaitOfItsCallerShowsTheLoss() {
        ManagedLease lease = fixture.holds(REQUEST.withLeaseTime(Duration.ofSeconds(5)), 100);
        LockRequest impatient = REQUEST.withWaitTime(Duration.ofMillis(50));
        CompletableFuture<Boolean> extended = lease.extendAsync(Duration.ofSeconds(60), impatient);
        time.pass(Duration.ofMillis(100));
        EngineFixture.assertFailure(extended, StoreException.class);

        last(store.renewals).answer(false);

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void anExtensionForACallerWhoDoesNotWaitEndsAtOneCommandTimeout() {
        ManagedLease lease = fixture.holds(REQUEST.withLeaseTime(Duration.ofSeconds(5)), 100);
        CompletableFuture<Boolean> once =
                lease.extendAsync(Duration.ofSeconds(60), REQUEST.withWaitTime(Duration.ZERO));
        LockRequest retries = REQUEST.withRetries(3, Duration.ofMillis(50));
        CompletableFuture<Boolean> again = lease.extendAsync(Duration.ofSeconds(60), retries);
        time.pass(store.traits.commandTimeout());
        assertThat(once).isNotDone();

        time.pass(Duration.ofMillis(50));

        EngineFixture.assertFailure(once, StoreException.class);
        EngineFixture.assertFailure(again, StoreException.class);
    }

    @Test
    void aShorterEndThatIsNotAnsweredOutlivesTheAnswerToAnEarlierRenewal() {
        ManagedLease lease = fixture.holds(100);
        time.pass(BELIEVED.dividedBy(3).plusMillis(6));
        assertThat(store.renewals).hasSize(1);
        store.uponRenewal = RecordingStore.Sent::fail;
        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(2))).isInstanceOf(LockStoreException.class);

        store.renewals.get(0).answer(true);

        assertThat(lease.remaining()).isLessThanOrEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void aRenewalThatWasUnderWayDoesNotMoveAFixedEnd() {
        ManagedLease lease = fixture.holds(100);
        time.pass(BELIEVED.dividedBy(3).plusMillis(6));
        store.uponRenewal = sent -> sent.answer(true);
        assertThat(lease.extend(Duration.ofSeconds(1))).isTrue();

        store.renewals.get(0).answer(true);

        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void aLeaseThatWasReleasedIsNotExtended() {
        ManagedLease lease = fixture.holds(100);
        lease.closeAsync();

        assertThat(lease.extend(Duration.ofSeconds(60))).isFalse();
        assertThat(store.renewals).isEmpty();
    }

    @Test
    void aHoldWhoseEndIsBeingChangedIsNotPassedOn() {
        ManagedLease lease = fixture.holds(100);
        PendingRequest next = fixture.begin(REQUEST);
        store.uponRenewal = sent -> {
            lease.closeAsync();
            sent.answer(true);
        };

        assertThat(lease.extend(Duration.ofSeconds(1))).isFalse();

        assertThat(next).isNotDone();
        assertThat(store.handOvers).hasSize(1);
    }

    // ---- readers ----

    @Test
    void theLastReaderReleasesTheHold() {
        PendingRequest joining = fixture.begin(READ);
        ManagedLease first = fixture.holds(READ, 100);
        ManagedLease second = fixture.received(joining);
        assertThat(store.acquires).hasSize(1);

        assertThat(first.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(store.releases).isEmpty();
        assertThat(second.isHeld()).isTrue();
        second.closeAsync();

        assertThat(store.releases).hasSize(1);
        last(store.releases).answer(ReleaseReply.RELEASED);
        fixture.assertEmpty();
    }

    @Test
    void aLossIsThatOfAllReaders() {
        PendingRequest joining = fixture.begin(READ);
        ManagedLease first = fixture.holds(READ, 100);
        ManagedLease second = fixture.received(joining);

        lose(first);

        assertThat(first.isHeld()).isFalse();
        assertThat(second.isHeld()).isFalse();
        assertThat(fixture.events.lost).hasSize(2);
        assertThat(second.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(last(store.releases).command().names()).containsExactly("stock");
    }

    @Test
    void anExtensionLimitsOneReaderOnly() {
        PendingRequest joining = fixture.begin(READ);
        ManagedLease limited = fixture.holds(READ, 100);
        ManagedLease other = fixture.received(joining);
        limited.onLost(told::add);
        store.uponRenewal = sent -> sent.answer(true);

        assertThat(limited.extend(Duration.ofSeconds(5))).isTrue();
        assertThat(limited.remaining()).isEqualTo(Duration.ofSeconds(5));
        assertThat(other.remaining()).isGreaterThan(Duration.ofSeconds(29));
        time.pass(Duration.ofSeconds(5));

        assertThat(told).hasSize(1);
        assertThat(limited.isHeld()).isFalse();
        assertThat(other.isHeld()).isTrue();
        assertThat(store.releases).isEmpty();
        other.closeAsync();
        assertThat(store.releases).hasSize(1);
    }

    /** Or they would hear of a loss, as by a failover, only after a third of that time. */
    @Test
    void anExtensionOfOneReaderDoesNotPutOffTheRenewalsForTheOthers() {
        PendingRequest joining = fixture.begin(READ);
        ManagedLease extended = fixture.holds(READ, 100);
        ManagedLease other = fixture.received(joining);
        store.uponRenewal = sent -> sent.answer(true);
        extended.extend(Duration.ofHours(1));
        extended.closeAsync();
        store.uponRenewal = sent -> sent.answer(false);

        time.pass(Duration.ofSeconds(10));

        assertThat(other.isHeld()).isFalse();
    }

    @Test
    void aReaderKeepsItsEndUntilTheStoreHasAnsweredToALongerOne() {
        ManagedLease lease = fixture.holds(READ, 100);
        store.uponRenewal = sent -> sent.answer(true);
        lease.extend(Duration.ofSeconds(2));
        store.uponRenewal = RecordingStore.Sent::fail;

        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(5))).isInstanceOf(LockStoreException.class);

        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(2));
        store.uponRenewal = sent -> sent.answer(true);
        assertThat(lease.extend(Duration.ofSeconds(5))).isTrue();
        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void aReaderWhoseExtensionFailsIsRenewedAsBefore() {
        ManagedLease lease = fixture.holds(READ, 100);
        store.uponRenewal = RecordingStore.Sent::fail;
        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(5))).isInstanceOf(LockStoreException.class);
        store.uponRenewal = sent -> sent.answer(true);

        time.pass(Duration.ofSeconds(60));

        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.isFixed()).isFalse();
    }

    @Test
    void anExtensionWithAMinimumHoldTimeKeepsTheLockTakenAfterTheRelease() {
        ManagedLease lease = fixture.holds(100);
        time.pass(Duration.ofSeconds(3));
        store.uponRenewal = sent -> sent.answer(true);

        assertThat(lease.extend(Duration.ofSeconds(20), Duration.ofSeconds(8))).isTrue();

        time.pass(Duration.ofSeconds(2));
        PendingRequest next = fixture.begin(REQUEST);
        lease.closeAsync();
        assertThat(last(store.releases).command().keepMillis()).isEqualTo(6_000);
        assertThat(store.handOvers).isEmpty();
        assertThat(next).isNotDone();
        assertThat(last(store.acquires).command().queue()).isTrue();
    }

    @Test
    void anExtensionTakesTheMinimumHoldTimeOfTheRequestAway() {
        ManagedLease lease = fixture.holds(REQUEST.withMinHoldTime(Duration.ofSeconds(8)), 100);
        store.uponRenewal = sent -> sent.answer(true);

        assertThat(lease.extend(Duration.ofSeconds(20), Duration.ZERO)).isTrue();

        lease.closeAsync();
        assertThat(last(store.releases).command().keepMillis()).isZero();
    }

    @Test
    void anExtensionThatFailsLeavesTheMinimumHoldTime() {
        ManagedLease lease = fixture.holds(REQUEST.withMinHoldTime(Duration.ofSeconds(8)), 100);
        store.uponRenewal = RecordingStore.Sent::fail;

        assertThatThrownBy(() -> lease.extend(Duration.ofSeconds(20), Duration.ZERO))
                .isInstanceOf(LockStoreException.class);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lease.extend(Duration.ofSeconds(20), Duration.ofMillis(-1)))
                .withMessageContaining("minimum hold time must not be negative");

        lease.closeAsync();
        assertThat(last(store.releases).command().keepMillis()).isEqualTo(8_000);
    }

    @Test
    void theLastOfSeveralReadersKeepsTheLockAsLongAsOneOfThemAsked() {
        readerBehindOneWhoKeepsTheLock().closeAsync();

        assertThat(last(store.releases).command().keepMillis()).isEqualTo(7_000);
    }

    /** Returns the second of two readers, a second after the first left, who asked to keep the lock for eight. */
    private ManagedLease readerBehindOneWhoKeepsTheLock() {
        PendingRequest joining = fixture.begin(READ);
        ManagedLease first = fixture.holds(READ, 100);
        ManagedLease second = fixture.received(joining);
        store.uponRenewal = sent -> sent.answer(true);
        first.extend(Duration.ofSeconds(20), Duration.ofSeconds(8));
        first.closeAsync();
        time.pass(Duration.ofSeconds(1));
        return second;
    }

    @Test
    void aLossKeepsTheLockAsLongAsAReaderAskedWhoHasLeft() {
        lose(readerBehindOneWhoKeepsTheLock());

        assertThat(last(store.releases).command().keepMillis()).isEqualTo(7_000);
    }

    @Test
    void aMinimumHoldTimeWithoutLimitIsOneOfAHundredYears() {
        ManagedLease lease = fixture.holds(REQUEST.withMinHoldTime(Duration.ofSeconds(Long.MAX_VALUE)), 100);
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);

        assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);

        assertThat(last(store.releases).command().keepMillis())
                .isEqualTo(Duration.ofDays(36_500).toMillis());
    }

    @Test
    void theLastReaderWhoseOwnLeaseEndsFreesTheLock() {
        ManagedLease lease = fixture.holds(READ, 100);
        store.uponRenewal = sent -> sent.answer(true);
        lease.extend(Duration.ofSeconds(5));

        time.pass(Duration.ofSeconds(5));

        assertThat(store.releases).hasSize(1);
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        fixture.assertEmpty();
    }

    // ---- how it came ----

    @Test
    void listenersHearHowALeaseCame() {
        ManagedLease first = fixture.holds(100);
        PendingRequest second = fixture.begin(REQUEST);
        first.closeAsync();
        fixture.received(second).closeAsync();
        PendingRequest third = fixture.begin(REQUEST);
        fixture.queued();
        fixture.granted(200);
        fixture.received(third).closeAsync();
        PendingRequest fourth = fixture.begin(REQUEST);
        fixture.queued();
        time.pass(Duration.ofMillis(5_275));
        fixture.acquired(300);
        fixture.received(fourth);

        assertThat(fixture.events.acquired)
                .extracting(Acquired::way)
                .containsExactly(Way.ANSWER, Way.PASS, Way.GRANT, Way.POLL);
    }

    private void lose(ManagedLease lease) {
        fixture.manager.revoked(lease.hold().attempt());
    }

    @Test
    void aReaderWhoLeavesAsItsTimeEndsTakesNothingFromTheOthers() {
        ManagedLease first = fixture.holds(READ, 100);
        ManagedLease second = fixture.received(fixture.begin(READ));
        ManagedLease third = fixture.received(fixture.begin(READ));
        store.uponRenewal = sent -> sent.answer(true);
        first.extend(Duration.ofSeconds(1));
        second.extend(Duration.ofSeconds(1));
        // The timer has found both of them over when the one of them releases the other.
        first.onLost(lost -> second.closeAsync());
        second.onLost(lost -> first.closeAsync());

        time.pass(Duration.ofSeconds(2));

        assertThat(first.isHeld()).isFalse();
        assertThat(second.isHeld()).isFalse();
        assertThat(third.isHeld()).isTrue();
        assertThat(store.releases).isEmpty();
        assertThat(fixture.manager).hasToString("held=1, names=1");
    }

    @Test
    void aLossThatMeetsTheReceiptOfTheLeaseIsToldOnce() {
        PendingRequest caller = fixture.begin(REQUEST);
        fixture.acquired(100);
        ManagedLease lease = caller.join();
        // Between the loss and its report the caller receives the lease.
        lease.onLost(lost -> fixture.received(caller));

        time.passUnnoticed(BELIEVED);
        fixture.manager.revoked(lease.hold().attempt());

        assertThat(fixture.events.acquired).hasSize(1);
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void aStoreThatThrowsInsteadOfAnsweringIsAFailedStore() {
        ManagedLease lease = fixture.holds(100);
        store.uponRenewal = sent -> {
            throw new IllegalStateException("closed");
        };

        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> lease.extend(Duration.ofSeconds(60)))
                .withMessageContaining("closed");

        assertThat(lease.isHeld()).isTrue();
    }
}
