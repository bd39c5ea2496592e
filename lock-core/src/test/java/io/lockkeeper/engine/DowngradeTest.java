/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.EngineFixture.BELIEVED;
import static io.lockkeeper.engine.EngineFixture.REQUEST;
import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockManager;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An exclusive holder who goes on as a reader, while the store answers or does not. */
class DowngradeTest {

    private final EngineFixture fixture = new EngineFixture();
    private final RecordingStore store = fixture.store;
    private final ManualTime time = fixture.time;
    private final List<LockLostException> told = new ArrayList<>();
    private final List<Boolean> held = new ArrayList<>();

    private static HandOverReply taken() {
        return new HandOverReply(true, EngineFixture.acquiredReply(100));
    }

    @Test
    void theLeaseStaysTheSameAndIsHeldAtEachStep() {
        ManagedLease lease = fixture.holds(100);
        String exclusive = lease.hold().attempt();
        time.pass(Duration.ofSeconds(2));
        // The store is asked when all is decided here; a listener hears of it before.
        store.uponHandOver = sent -> held.add(lease.isHeld());
        fixture.events.uponDowngrade = event -> held.add(lease.isHeld());

        CompletableFuture<?> told = lease.downgrade();

        assertThat(held).containsExactly(true, true);
        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.mode()).isEqualTo(LockMode.READ);
        assertThat(lease.fencingToken()).isEqualTo(100);
        assertThat(lease.remaining()).as("not more than before").isEqualTo(BELIEVED.minusSeconds(2));
        assertThat(told).isNotDone();
        assertThat(last(store.handOvers).command().ahead()).isTrue();
        assertThat(last(store.handOvers).command().attempt()).isEqualTo(exclusive);
        last(store.handOvers).answer(taken());
        assertThat(told).isCompleted();
        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.remaining()).isEqualTo(BELIEVED);
        assertThat(store.releases).isEmpty();
        assertThat(fixture.manager).hasToString("held=1, names=0");
    }

    @Test
    void theReaderHasTheBeginningAndTheCallbacksOfTheWriter() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        time.pass(Duration.ofSeconds(2));
        lease.downgrade();
        last(store.handOvers).answer(taken());

        lose(lease);

        assertThat(told).singleElement().satisfies(lost -> assertThat(lost.heldFor())
                .isEqualTo(Duration.ofSeconds(2)));
        assertThat(fixture.events.lost).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallbackThatIsRegisteredDuringTheDowngradeIsCalledOnALaterLoss(boolean answered) {
        ManagedLease lease = fixture.holds(100);
        store.uponHandOver = sent -> lease.onLost(told::add);
        fixture.events.uponDowngrade = event -> lease.onLost(told::add);
        lease.downgrade();
        lease.onLost(told::add);
        if (answered) {
            last(store.handOvers).answer(taken());
        }

        lose(lease);

        assertThat(told).hasSize(3);
        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void listenersHearThatTheLeaseGoesOnAsThatOfAReader() {
        List<LockListener.Downgraded> heard = new ArrayList<>();
        fixture.events.uponDowngrade = heard::add;
        ManagedLease lease = fixture.holds(100);

        lease.downgrade();

        assertThat(heard).singleElement().satisfies(event -> assertThat(event.acquisition())
                .isEqualTo(lease.acquisition()));
        assertThat(fixture.events.released).isEmpty();
        assertThat(fixture.events.lost).isEmpty();
    }

    @Test
    void aDowngradeThatIsNotAnsweredIsRepeatedAndBelievedUntilTheOldDeadline() {
        ManagedLease lease = fixture.holds(100);
        time.pass(Duration.ofSeconds(2));
        CompletableFuture<?> told = lease.downgrade();
        last(store.handOvers).fail();

        assertThat(told).isCompleted();
        assertThat(lease.isHeld()).isTrue();
        assertThat(lease.remaining()).isEqualTo(BELIEVED.minusSeconds(2));
        time.pass(Duration.ofMillis(200));
        assertThat(store.handOvers).hasSize(2);
        assertThat(last(store.handOvers).command())
                .isEqualTo(store.handOvers.get(0).command());
        last(store.handOvers).answer(taken());

        assertThat(lease.remaining()).isEqualTo(BELIEVED);
    }

    @Test
    void aStoreThatStaysSilentMakesTheReaderLostAtTheOldDeadline() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        lease.downgrade();
        last(store.handOvers).fail();
        for (int i = 0; i < 200 && lease.isHeld(); i++) {
            time.pass(Duration.ofMillis(200));
            last(store.handOvers).fail();
        }

        assertThat(told).hasSize(1);
        assertThat(fixture.events.lost).hasSize(1);
        assertThat(store.handOvers).hasSizeBetween(140, 160);
        time.pass(Duration.ofMinutes(1));
        assertThat(store.handOvers).hasSizeLessThan(160);
    }

    /** DESIGN 5: at the deadline the lease is lost, also while an answer is on its way. */
    @Test
    void aLossIsToldAtTheDeadlineWhileADowngradeIsNotAnswered() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        Duration silence = Duration.ofMillis(1_400);
        store.uponHandOver = sent -> time.schedule(sent::fail, silence.toNanos());
        lease.downgrade();

        time.pass(BELIEVED.minusMillis(1));
        assertThat(told).isEmpty();
        time.pass(Duration.ofMillis(1));

        assertThat(told).hasSize(1);
    }

    @Test
    void aReaderWhoLeavesMeanwhileTakesBothAttemptsAlong() {
        ManagedLease lease = fixture.holds(100);
        String exclusive = lease.hold().attempt();
        lease.downgrade();
        String reader = lease.hold().attempt();
        last(store.handOvers).fail();
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(ended()).containsExactlyInAnyOrder(exclusive, reader);
        time.pass(Duration.ofMillis(200));
        last(store.handOvers).fail();

        assertThat(ended()).hasSize(4).containsOnly(exclusive, reader);
        time.pass(Duration.ofSeconds(10));
        assertThat(store.handOvers).hasSize(2);
        fixture.assertEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "RELEASED,         NOT_HELD, RELEASED",
        "RELEASED,         ,         RELEASED",
        "ALREADY_RELEASED, RELEASED, RELEASED",
        "ALREADY_RELEASED, NOT_HELD, UNKNOWN",
        "NOT_HELD,         NOT_HELD, LOST",
        "NOT_HELD,         ,         UNKNOWN",
        ",                 NOT_HELD, UNKNOWN",
        ",                 RELEASED, RELEASED",
        ",                 ,         UNKNOWN",
    })
    void aReleaseDuringADowngradeTellsWhatTheStoreSaysOfBothAttempts(
            @Nullable ReleaseReply ofTheWriter, @Nullable ReleaseReply ofTheReader, ReleaseResult expected) {
        ManagedLease lease = fixture.holds(100);
        String exclusive = lease.hold().attempt();
        lease.downgrade();
        last(store.handOvers).fail();
        store.uponRelease = sent -> {
            ReleaseReply reply = sent.command().attempt().equals(exclusive) ? ofTheWriter : ofTheReader;
            if (reply == null) {
                sent.fail();
            } else {
                sent.answer(reply);
            }
        };

        assertThat(lease.release()).isEqualTo(expected);

        assertThat(fixture.events.lost).hasSize(expected == ReleaseResult.LOST ? 1 : 0);
    }

    /** The answer finds that the reader has left, and takes along what it may have: the release may come after that. */
    @Test
    void aReleaseThatCrossesTheAnswerToADowngradeIsNoLoss() {
        ManagedLease lease = fixture.holds(100);
        lease.downgrade();
        CompletableFuture<ReleaseResult> released = lease.closeAsync();
        last(store.releases).answer(ReleaseReply.NOT_HELD);
        RecordingStore.Sent<ReleaseCommand, ReleaseReply> ofTheReader = last(store.releases);
        last(store.handOvers).answer(taken());

        ofTheReader.answer(ReleaseReply.NOT_HELD);

        assertThat(released).isCompletedWithValue(ReleaseResult.UNKNOWN);
        assertThat(fixture.events.lost).isEmpty();
    }

    @Test
    void aReleaseDuringADowngradeIsToldWithinOneCommandTimeout() {
        ManagedLease lease = fixture.holds(100);
        lease.downgrade();
        last(store.handOvers).fail();
        CompletableFuture<ReleaseResult> released = lease.closeAsync();
        time.pass(RecordingStore.TRAITS.commandTimeout().minusMillis(1));
        store.releases.get(0).answer(ReleaseReply.ALREADY_RELEASED);
        assertThat(released).isNotDone();

        time.pass(Duration.ofMillis(1));

        assertThat(released).isCompletedWithValue(ReleaseResult.UNKNOWN);
    }

    @Test
    void aMinimumHoldTimeOutlivesADowngradeThatTheStoreHasNotTaken() {
        ManagedLease lease = fixture.holds(REQUEST.withMinHoldTime(Duration.ofSeconds(8)), 100);
        lease.downgrade();
        last(store.handOvers).fail();
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);

        lease.release();

        assertThat(store.releases)
                .extracting(sent -> sent.command().keepMillis())
                .containsOnly(8_000L);
    }

    @Test
    void aReaderOfWhomTheStoreHasNotHeardYetIsNotExtended() {
        ManagedLease lease = fixture.holds(100);
        lease.downgrade();
        last(store.handOvers).fail();

        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> lease.extend(Duration.ofSeconds(60)))
                .withMessageContaining("has not confirmed yet");

        assertThat(lease.remaining()).isEqualTo(BELIEVED);
        assertThat(store.renewals).isEmpty();
    }

    @Test
    void anExtensionDuringADowngradeComesAfterIt() {
        ManagedLease lease = fixture.holds(100);
        store.uponRenewal = sent -> sent.answer(true);
        lease.downgrade();

        CompletableFuture<Boolean> extended = lease.extendAsync(Duration.ofSeconds(60), REQUEST.withoutWaiting());
        assertThat(extended).isNotDone();
        last(store.handOvers).answer(taken());

        assertThat(extended).isCompletedWithValue(true);
        assertThat(last(store.renewals).command().attempt())
                .isEqualTo(lease.hold().attempt());
        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(60));
    }

    @Test
    void anExtensionThatADowngradeOvertakesIsAskedForAgain() {
        ManagedLease lease = fixture.holds(100);
        store.uponHandOver = sent -> sent.answer(taken());
        CompletableFuture<Boolean> extended = lease.extendAsync(Duration.ofSeconds(60), REQUEST.withoutWaiting());
        lease.downgrade();

        last(store.renewals).answer(true);
        assertThat(extended).isNotDone();
        assertThat(lease.remaining()).isEqualTo(BELIEVED);
        last(store.renewals).answer(true);

        assertThat(extended).isCompletedWithValue(true);
        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(60));
        assertThat(fixture.events.lost).isEmpty();
    }

    @Test
    void aHoldThatTheStoreForgotIsLost() {
        ManagedLease lease = fixture.holds(100);
        lease.onLost(told::add);
        lease.downgrade();

        last(store.handOvers).answer(new HandOverReply(false, new AcquireReply.Ended()));

        assertThat(lease.isHeld()).isFalse();
        assertThat(told).hasSize(1);
        assertThat(fixture.events.lost).hasSize(1);
    }

    @Test
    void localCallersWhoWaitAskAnew() {
        ManagedLease lease = fixture.holds(100);
        PendingRequest next = fixture.begin(REQUEST);
        lease.downgrade();
        last(store.handOvers).answer(taken());

        assertThat(next).isNotDone();
        assertThat(last(store.acquires).command().queue()).isTrue();
        fixture.acquired(200);
        assertThat(fixture.received(next).fencingToken()).isEqualTo(200);
    }

    @Test
    void theReadersHoldIsRenewedAsAnyOther() {
        ManagedLease lease = fixture.holds(100);
        lease.downgrade();
        last(store.handOvers).answer(taken());

        time.pass(BELIEVED.dividedBy(3).plusMillis(6));

        assertThat(last(store.renewals).command().attempt())
                .isEqualTo(lease.hold().attempt());
    }

    @Test
    void aFixedLeaseKeepsItsEnd() {
        ManagedLease lease = fixture.holds(REQUEST.withLeaseTime(Duration.ofSeconds(5)), 100);
        time.pass(Duration.ofSeconds(2));

        lease.downgrade();
        long leaseMillis = last(store.handOvers).command().next().leaseMillis();
        last(store.handOvers).answer(new HandOverReply(true, new AcquireReply.Acquired(leaseMillis, List.of(100L))));

        assertThat(lease.remaining()).isEqualTo(Duration.ofSeconds(3));
    }

    @Test
    void aLostHoldIsNotDowngraded() {
        ManagedLease lease = fixture.holds(100);
        time.passUnnoticed(Duration.ofSeconds(30));

        assertThat(lease.downgrade()).isCompleted();

        assertThat(store.handOvers).isEmpty();
        assertThat(lease.mode()).isEqualTo(LockMode.EXCLUSIVE);
    }

    private void lose(ManagedLease lease) {
        fixture.manager.revoked(lease.hold().attempt());
    }

    private List<String> ended() {
        return store.releases.stream().map(sent -> sent.command().attempt()).toList();
    }

    @Test
    void aReleaseThatMeetsADowngradeLeavesNoReaderBehind() throws Exception {
        AtomicReference<Runnable> uponLook = new AtomicReference<>(() -> {});
        Scheduler looking = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public long currentTimeMillis() {
                uponLook.get().run();
                return super.currentTimeMillis();
            }
        };
        EngineContext context = new EngineContext(
                looking, Runnable::run, Runnable::run, Runnable::run, fixture.events, EngineContext::random, () -> {});
        LocalLockManager manager = EngineFixture.manager(store, fixture.events, context);
        PendingRequest caller = EngineFixture.begin(manager, REQUEST, new CompletableFuture<>());
        last(store.acquires).answer(EngineFixture.acquiredReply(100));
        ManagedLease lease = caller.join();
        lease.received(caller.number, caller.asked, caller.tries, caller.path);
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        Thread here = Thread.currentThread();
        Thread other = new Thread(lease::closeAsync);
        uponLook.set(() -> {
            if (Thread.currentThread() == here && other.getState() == Thread.State.NEW && looksAtLease()) {
                other.start();
                Awaitility.await().until(() -> other.getState() == Thread.State.BLOCKED);
            }
        });

        lease.downgrade();
        other.join();

        assertThat(lease.isHeld()).isFalse();
        assertThat(manager).hasToString("held=0, names=0");
        assertThat(store.releases).as("both attempts").hasSizeGreaterThanOrEqualTo(2);
        store.renewals.clear();
        time.pass(BELIEVED);
        assertThat(store.renewals).as("no owner").isEmpty();
    }

    private static boolean looksAtLease() {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(frame -> frame.getMethodName().equals("isHeld")));
    }

    @Test
    void aReaderOfWhomTheStoreHasNotHeardYetIsFoundByItsFormerAttempt() {
        ManagedLease lease = fixture.holds(100);
        String exclusive = lease.hold().attempt();
        lease.downgrade();
        last(store.handOvers).fail();
        store.stored = Optional.of(RecordingStore.ownedBy(exclusive));

        assertThat(lease.verify()).isTrue();
        assertThat(lease.isHeld()).isTrue();
        assertThat(fixture.events.lost).isEmpty();
    }

    /** Both change what the lease is known to have been asked for. */
    @Test
    void anExtensionBesideADowngradeDoesNotMakeAnExclusiveHolderOfAReader() {
        LockManager manager =
                LeaseManager.create(new MemoryLockStore(), EngineFixture.settings(Duration.ZERO, fixture.events));
        for (int i = 0; i < 1_000; i++) {
            LockManager.Lease lease = manager.acquire(REQUEST, false, false, 0);
            CountDownLatch extended = new CountDownLatch(1);
            AtomicBoolean downgraded = new AtomicBoolean();
            CompletableFuture<Void> extensions = CompletableFuture.runAsync(() -> {
                while (!downgraded.get()) {
                    lease.extend(Duration.ofSeconds(20), Duration.ofMillis(1));
                    extended.countDown();
                }
            });
            assertThatNoException().isThrownBy(extended::await);
            lease.downgrade();
            downgraded.set(true);
            // One is refused where the store has not confirmed the downgrade yet.
            assertThat(extensions.handle((done, refused) -> "over")).succeedsWithin(Duration.ofSeconds(20));
            assertThat(lease.mode()).isEqualTo(LockMode.READ);
            lease.release();
        }
        manager.close();
    }

    @Test
    void aLeaseThatIsDowngradedWhileItIsVerifiedIsHeld() {
        ManagedLease lease = fixture.holds(100);
        store.uponInspection = () -> {
            store.uponInspection = () -> {};
            lease.downgrade();
            last(store.handOvers).answer(taken());
            store.stored = Optional.of(RecordingStore.ownedBy(lease.hold().attempt()));
        };

        assertThat(lease.verify()).isTrue();
        assertThat(lease.isHeld()).isTrue();
    }

    /** Listeners count what is held, in each mode. */
    @Test
    void aDowngradeIsNotToldAfterTheEndThatCameIntoIt() {
        List<LockListener.Downgraded> heard = new ArrayList<>();
        fixture.events.uponDowngrade = heard::add;
        ManagedLease lease = fixture.holds(100);
        fixture.begin(REQUEST);
        store.uponAcquire = sent -> lease.closeAsync();
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);

        lease.downgrade();
        last(store.handOvers).answer(taken());

        assertThat(heard).isEmpty();
        assertThat(fixture.events.released)
                .singleElement()
                .satisfies(event -> assertThat(event.request().mode()).isEqualTo(LockMode.EXCLUSIVE));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anEndThatMeetsTheNewsOfADowngradeIsToldBehindIt(boolean lost) {
        AtomicReference<Runnable> uponLook = new AtomicReference<>(() -> {});
        Scheduler looking = new EngineFixture.DelegatingScheduler(time) {
            @Override
            public long nanoTime() {
                uponLook.get().run();
                return super.nanoTime();
            }
        };
        List<String> heard = new ArrayList<>();
        LockListener listener = new LockListener() {
            @Override
            public void onDowngraded(Downgraded event) {
                heard.add("downgraded");
            }

            @Override
            public void onReleased(Released event) {
                heard.add("released");
            }

            @Override
            public void onLost(Lost event) {
                heard.add("lost");
            }
        };
        LocalLockManager manager = EngineFixture.manager(
                store,
                fixture.events,
                new EngineContext(
                        looking,
                        Runnable::run,
                        Runnable::run,
                        Runnable::run,
                        listener,
                        EngineContext::random,
                        () -> {}));
        PendingRequest caller = EngineFixture.begin(manager, REQUEST, new CompletableFuture<>());
        last(store.acquires).answer(EngineFixture.acquiredReply(100));
        ManagedLease lease = caller.join();
        lease.received(caller.number, caller.asked, caller.tries, caller.path);
        store.uponRelease = sent -> sent.answer(ReleaseReply.RELEASED);
        uponLook.set(() -> {
            if (lease.mode() == LockMode.READ) {
                uponLook.set(() -> {});
                Thread other =
                        new Thread(lost ? () -> manager.revoked(lease.hold().attempt()) : lease::closeAsync);
                other.start();
                joined(other);
            }
        });

        lease.downgrade();

        assertThat(heard).containsExactly("downgraded", lost ? "lost" : "released");
    }

    private static void joined(Thread other) {
        try {
            other.join();
        } catch (InterruptedException interrupt) {
            throw new IllegalStateException(interrupt);
        }
    }
}
