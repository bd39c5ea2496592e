/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lockkeeper.engine.LeaseManagerFactory;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The levels of what a thread holds: who ends what, and what is left of a hold that is over. */
class ReentrantHoldsTest {

    private static final LockRequest REQUEST = LockRequest.of("stock").withWaitTime(Duration.ofSeconds(30));
    private static final LockRequest READ = REQUEST.withMode(LockMode.READ);

    private final MemoryLockStore store = new MemoryLockStore();
    private final LockManager manager = manager(store);
    private final ReentrantHolds holds = new ReentrantHolds(manager);

    private static LockManager manager(MemoryLockStore store) {
        return new LeaseManagerFactory()
                .create(
                        store,
                        new LockManager.Settings(
                                Duration.ofSeconds(30),
                                2,
                                Duration.ofMillis(50),
                                Duration.ZERO,
                                "test",
                                Runnable::run,
                                new LockListener() {}));
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void anInnerLevelEndsOnlyItself() {
        EnteredLease outer = enter();
        EnteredLease inner = enter();
        assertThat(levels()).isEqualTo(2);

        assertThat(inner.release()).isEqualTo(ReleaseResult.RELEASED);

        assertThat(inner.isHeld()).isFalse();
        assertThat(outer.isHeld()).isTrue();
        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(levels()).isEqualTo(1);
        assertThat(isTaken()).isTrue();
    }

    @Test
    void theOutermostLevelEndsTheHold() {
        EnteredLease level = enter();
        assertThat(level.release()).isEqualTo(ReleaseResult.RELEASED);

        assertFreeAndForgotten();
    }

    @Test
    void levelsMayEndInAnyOrder() {
        EnteredLease outer = enter();
        EnteredLease inner = enter();

        outer.close();
        assertThat(inner.isHeld()).isTrue();
        inner.close();

        assertFreeAndForgotten();
    }

    @Test
    void unlockEndsOnlyLevelsThatLockEntered() {
        EnteredLease level = enter();
        holds.lock(holds.thisThread(), REQUEST, true);

        unlock();
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this::unlock);
        assertThat(levels()).isEqualTo(1);
        assertThat(level.isHeld()).isTrue();
        level.close();

        assertFreeAndForgotten();
    }

    @Test
    void anotherThreadMayEndALevel() {
        EnteredLease outer = enter();
        EnteredLease inner = enter();

        onAnotherThread(inner::close);
        assertThat(levels()).isEqualTo(1);
        onAnotherThread(outer::close);

        assertThat(levels()).isZero();
        assertThat(isTaken()).isFalse();
        assertThat(holds.lease(holds.thisThread(), REQUEST)).isEmpty();
    }

    @Test
    void aNameThatAnotherThreadReleasedCanBeHeldAgain() {
        EnteredLease first = enter();
        long token = first.fencingToken();
        onAnotherThread(first::close);

        EnteredLease again = enter();

        assertThat(again.isHeld()).isTrue();
        assertThat(again.fencingToken()).isGreaterThan(token);
        assertThat(levels()).isEqualTo(1);
    }

    @Test
    void aThreadSeesOnlyWhatItHolds() {
        enter();

        onAnotherThread(() -> {
            assertThat(holds.knownThread()).isNull();
            assertThat(levels()).isZero();
            assertThat(holds.thisThread().holdsAny()).isFalse();
        });
        assertThat(holds.thisThread().holdsAny()).isTrue();
    }

    @Test
    void everyLevelOfALostHoldReportsTheLoss() {
        EnteredLease outer = enter();
        EnteredLease inner = enter();
        lose(inner);

        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(outer.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(holds.thisThread().isEmpty()).isTrue();
    }

    @Test
    void aLostHoldStaysTheThreadsHoldWhileItsBodyRuns() {
        EnteredLease level = enter();
        lose(level);

        assertThatThrownBy(this::enter).isInstanceOf(LockLostException.class);

        level.close();
        assertThat(enter().isHeld()).isTrue();
    }

    @Test
    void aLeaseOfItsOwnIsRefusedToTheThreadThatHoldsTheName() {
        enter();

        assertThatIllegalStateException()
                .isThrownBy(() -> holds.refuseHeld(holds.thisThread(), REQUEST))
                .withMessageContaining("'stock'");
        onAnotherThread(() -> holds.refuseHeld(holds.thisThread(), REQUEST));
    }

    @Test
    void aLevelGoesOnWithoutTheThreadThatLeavesIt() {
        EnteredLease level = enterAsync(List.of());
        assertThat(holds.thisThread().isEmpty()).isTrue();

        Runnable leave = level.enterThread();
        assertThat(levels()).isEqualTo(1);
        leave.run();

        assertThat(holds.thisThread().isEmpty()).isTrue();
        assertThat(level.isHeld()).isTrue();
        onAnotherThread(level::close);
        assertFreeAndForgotten();
    }

    @Test
    void aLevelOfNoThreadOutlivesTheThreadsOwn() {
        EnteredLease own = enter();
        EnteredLease stage = enterAsync(List.of());

        own.close();

        assertThat(holds.thisThread().isEmpty()).isTrue();
        assertThat(stage.isHeld()).isTrue();
        stage.close();
        assertFreeAndForgotten();
    }

    @Test
    void whatLeasesAroundTheCallerHoldIsEnteredAgain() {
        EnteredLease outer = enterAsync(List.of());

        onAnotherThread(() -> {
            EnteredLease inner = enterAsync(List.of(outer));
            assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
            outer.close();
            assertThat(inner.isHeld()).isTrue();
            inner.close();
        });

        assertFreeAndForgotten();
    }

    @Test
    void whatIsOverOrOfAnotherTemplateIsNotEnteredAgain() {
        EnteredLease over = enterAsync(List.of());
        over.close();
        LockManager elsewhere = manager(new MemoryLockStore());
        ReentrantHolds others = new ReentrantHolds(elsewhere);
        EnteredLease foreign = others.enter(others.thisThread(), REQUEST);

        EnteredLease own = enterAsync(List.of(over, foreign));

        assertThat(own.acquisition()).as("acquired anew").isNotZero();
        own.close();
        assertThat(foreign.isHeld()).isTrue();
        elsewhere.close();
    }

    @Test
    void aHoldIsThatOfAReaderWhenOnlyLevelsThatReadAreLeft() {
        EnteredLease outer = enter();
        EnteredLease reading = holds.enter(holds.thisThread(), READ);

        outer.close();

        assertThat(reading.isHeld()).isTrue();
        assertThat(reading.mode()).isEqualTo(LockMode.READ);
        assertThat(manager.isLocked("stock", LockMode.READ)).isTrue();
        assertThatExceptionOfType(LockUpgradeException.class).isThrownBy(this::enter);
        reading.close();
        assertFreeAndForgotten();
    }

    /** A callback of a level that has ended is not called by the levels that go on. */
    @Test
    void theCallbacksOfALevelEndWithIt() {
        EnteredLease outer = enter();
        EnteredLease inner = enter();
        CompletableFuture<LockLostException> ended = new CompletableFuture<>();
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        inner.onLost(ended::complete);
        outer.onLost(told::complete);
        inner.close();

        lose(outer);

        assertThat(told).succeedsWithin(Duration.ofSeconds(30));
        assertThat(ended).isNotDone();
    }

    private EnteredLease enter() {
        return holds.enter(holds.thisThread(), REQUEST);
    }

    private EnteredLease enterAsync(List<EnteredLease> enclosing) {
        try {
            return holds.enterAsync(holds.thisThread(), REQUEST, enclosing).join();
        } finally {
            holds.leaveThread();
        }
    }

    private void unlock() {
        holds.unlock(holds.thisThread(), REQUEST);
    }

    private int levels() {
        return holds.holdCount(holds.thisThread(), REQUEST);
    }

    private boolean isTaken() {
        return manager.isLocked("stock", LockMode.EXCLUSIVE);
    }

    private void assertFreeAndForgotten() {
        assertThat(isTaken()).isFalse();
        assertThat(levels()).isZero();
        assertThat(holds.thisThread().isEmpty()).isTrue();
    }

    private void lose(EnteredLease lease) {
        assertThat(store.revoke("stock").join()).isTrue();
        Awaitility.await().until(() -> !lease.isHeld());
    }

    private static void onAnotherThread(Runnable work) {
        CompletableFuture.runAsync(work).join();
    }

    @Test
    void aLevelThatBeginsWhileAnotherThreadEndsTheOnlyOtherOneStaysInSight() {
        NestedLease outer = (NestedLease) enter();
        ReentrantHold hold = outer.hold();
        ReentrantHolds.Owner thread = holds.thisThread();
        hold.enter(LockMode.EXCLUSIVE, true);
        OwnedHold mine = thread.part(hold);
        onAnotherThread(outer::close);

        mine.attach(LockMode.EXCLUSIVE);

        assertThat(levels()).isEqualTo(1);
        EnteredLease inner = enter();
        inner.close();
        mine.detach(LockMode.EXCLUSIVE);
        hold.leave(LockMode.EXCLUSIVE, true);
        assertFreeAndForgotten();
    }

    @Test
    void eachLookAtALostSetOfLevelsHasAnExceptionOfItsOwn() {
        EnteredLease outer = enter();
        EnteredLease both = holds.enter(holds.thisThread(), LockRequest.of("stock", "other"));
        AtomicReference<LockLostException> told = new AtomicReference<>();
        both.onLost(told::set);
        lose(outer);
        Awaitility.await().untilAsserted(() -> assertThat(told).doesNotHaveNullValue());

        LockLostException first = catchThrowableOfType(LockLostException.class, both::ensureHeld);
        LockLostException second = catchThrowableOfType(LockLostException.class, both::ensureHeld);

        assertThat(first).isNotSameAs(second).isNotSameAs(told.get());
        assertThat(first.getStackTrace()[0].getMethodName()).isEqualTo("ensureHeld");
        both.close();
        outer.close();
    }

    @Test
    void anUnlockIsOwedUnderTheNameThatWasLocked() {
        ReentrantHolds.Owner thread = holds.thisThread();
        LockRequest other = LockRequest.of("other").withWaitTime(Duration.ofSeconds(30));
        EnteredLease both = holds.enter(
                thread,
                LockRequest.of("stock", "other")
                        .withWaitTime(Duration.ofSeconds(30))
                        .withLeaseTime(Duration.ofMillis(500)));
        holds.lock(thread, other, true);
        both.close();
        Awaitility.await().until(() -> holds.holdCount(thread, LockRequest.of("other")) == 0);

        holds.lock(thread, other, true);
        holds.unlock(thread, LockRequest.of("other"));
        holds.unlock(thread, LockRequest.of("other"));

        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(() -> holds.unlock(thread, LockRequest.of("other")));
        assertThat(thread.isEmpty()).isTrue();
    }

    @Test
    void threadsThatEndedWithoutTheirUnlocksAreForgotten() throws Exception {
        LockRequest shortly = READ.withLeaseTime(Duration.ofMillis(100));
        List<Thread> ended = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            Thread thread = new Thread(() -> holds.lock(holds.thisThread(), shortly, true));
            thread.start();
            thread.join();
            ended.add(thread);
        }
        assertThat(ended).allMatch(thread -> holds.knownThread(thread) != null);
        Awaitility.await().until(() -> !manager.isLocked("stock", LockMode.READ));

        enter();

        assertThat(ended).allMatch(thread -> holds.knownThread(thread) == null);
        assertThat(levels()).isEqualTo(1);
    }
}
