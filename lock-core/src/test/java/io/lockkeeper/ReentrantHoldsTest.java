/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.engine.LeaseManager;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The levels of what a thread holds: who ends what, and what is left of a hold that is over. */
class ReentrantHoldsTest {

    private static final LockRequest REQUEST = LockRequest.of("stock").withWaitTime(Duration.ofSeconds(30));
    private static final LockRequest READ = REQUEST.withMode(LockMode.READ);

    private final MemoryLockStore store = new MemoryLockStore();
    private final LockManager manager = manager(store);
    private final ReentrantHolds holds = new ReentrantHolds(manager, null);

    private static LockManager manager(LockStore store) {
        return manager(store, new LockListener() {});
    }

    private static LockManager manager(LockStore store, LockListener listener) {
        return LeaseManager.create(
                store,
                new LockManager.Settings(
                        Duration.ofSeconds(30),
                        2,
                        Duration.ofMillis(50),
                        Duration.ZERO,
                        "test",
                        "",
                        Runnable::run,
                        listener));
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void anInnerLevelEndsOnlyItself() {
        NestedLease outer = enter();
        NestedLease inner = enter();
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
        NestedLease level = enter();
        assertThat(level.release()).isEqualTo(ReleaseResult.RELEASED);

        assertFreeAndForgotten();
    }

    @Test
    void levelsMayEndInAnyOrder() {
        NestedLease outer = enter();
        NestedLease inner = enter();

        outer.close();
        assertThat(inner.isHeld()).isTrue();
        inner.close();

        assertFreeAndForgotten();
    }

    @Test
    void anUnlockThatFindsNoRoomOnTheStackChangesNothing() throws Exception {
        enter().close();
        for (int i = 0; i < 40; i++) {
            DistributedLock lock = view(REQUEST.withNames(List.of("deep-" + i)));
            Thread thread = new Thread(
                    null,
                    () -> {
                        lock.lock();
                        unlockAtTheEndOfTheStack(lock);
                    },
                    "deep",
                    200 * 1024 + 97L * i);
            thread.start();
            thread.join();
        }

        Awaitility.await().untilAsserted(() -> assertThat(IntStream.range(0, 40))
                .noneMatch(i -> manager.isLocked("deep-" + i, LockMode.EXCLUSIVE)));
    }

    /** Tries at the end first, and again where there is a little more room; returns whether it was unlocked. */
    @SuppressWarnings("InfiniteRecursion") // It ends with the stack.
    private static boolean unlockAtTheEndOfTheStack(DistributedLock lock) {
        try {
            if (unlockAtTheEndOfTheStack(lock)) {
                return true;
            }
        } catch (StackOverflowError end) {
            // Here there is more room.
        }
        try {
            lock.release();
            return true;
        } catch (StackOverflowError noRoom) {
            return false;
        }
    }

    @Test
    void unlockEndsOnlyLevelsThatLockEntered() {
        NestedLease level = enter();
        holds.enter(REQUEST, false, true);

        unlock();
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this::unlock);
        assertThat(levels()).isEqualTo(1);
        assertThat(level.isHeld()).isTrue();
        level.close();

        assertFreeAndForgotten();
    }

    @Test
    void anotherThreadMayEndALevel() {
        NestedLease outer = enter();
        NestedLease inner = enter();

        onAnotherThread(inner::close);
        assertThat(levels()).isEqualTo(1);
        onAnotherThread(outer::close);

        assertThat(levels()).isZero();
        assertThat(isTaken()).isFalse();
        assertThat(view(REQUEST).currentLease()).isEmpty();
    }

    @Test
    void aNameThatAnotherThreadReleasedCanBeHeldAgain() {
        NestedLease first = enter();
        long token = first.fencingToken();
        onAnotherThread(first::close);

        NestedLease again = enter();

        assertThat(again.isHeld()).isTrue();
        assertThat(again.fencingToken()).isGreaterThan(token);
        assertThat(levels()).isEqualTo(1);
    }

    @Test
    void aThreadSeesOnlyWhatItHolds() {
        enter();

        onAnotherThread(() -> {
            assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
            assertThat(levels()).isZero();
        });
        assertThat(thread().levels()).isNotEmpty();
    }

    @Test
    void everyLevelOfALostHoldReportsTheLoss() {
        NestedLease outer = enter();
        NestedLease inner = enter();
        lose(inner);

        assertThatThrownBy(inner::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(inner.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(outer.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
    }

    @Test
    void aLeaseThatIsLeftInTheWrongOrderDoesNotComeBack() {
        Runnable leaveOuter = LockContext.enterThread(enterAsync(List.of()));
        Runnable leaveInner = LockContext.enterThread(enterAsync(List.of()));

        leaveOuter.run();
        assertThat(LockContext.current()).isPresent();
        leaveInner.run();

        assertThat(LockContext.current()).isEmpty();
    }

    /** What only the level of all of them holds is of no use without the one that was lost. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void theLossOfAnyOfSeveralHoldsFreesTheOthers(int lost) {
        List<String> names = List.of("first", "second", "third");
        List<NestedLease> single = names.stream()
                .map(name -> holds.enter(REQUEST.withNames(List.of(name)), false, true))
                .toList();
        NestedLease all = holds.enter(REQUEST.withNames(names), false, true);
        single.forEach(NestedLease::close);
        assertThat(all.isHeld()).isTrue();

        assertThat(store.revoke(names.get(lost)).join()).isTrue();

        Awaitility.await()
                .untilAsserted(() -> assertThat(names).noneMatch(name -> manager.isLocked(name, LockMode.EXCLUSIVE)));
        assertThat(all.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
    }

    @Test
    void callbacksOfALevelOfSeveralHoldsEndWithIt() {
        NestedLease outer = enter();
        List<LockLostException> told = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            NestedLease both = holds.enter(LockRequest.of("stock", "other"), true, true);
            both.onLost(told::add);
            both.close();
        }

        lose(outer);

        assertThat(told).isEmpty();
    }

    @Test
    void locksOfSeveralNamesThatLapsedAreForgottenAtTheNextOne() {
        LockRequest brief = REQUEST.withLeaseTime(Duration.ofMillis(100));
        for (int i = 0; i < 3; i++) {
            holds.enter(brief, false, true);
            NestedLease both = holds.enter(brief.withNames(List.of("stock", "other")), false, true);
            Awaitility.await().until(() -> !both.isHeld());
        }
        holds.enter(LockRequest.of("third"), false, true);

        assertThat(thread().levels()).hasSize(1);
    }

    /** The one that the thread holds besides goes on, and has as many levels as before. */
    @Test
    void locksOfSeveralNamesOfWhichOneLapsedAreForgottenAtTheNextOne() {
        NestedLease stock = holds.enter(REQUEST, false, true);
        LockRequest both = REQUEST.withNames(List.of("other", "stock"));
        for (int i = 0; i < 3; i++) {
            holds.enter(both.withLeaseTime(Duration.ofMillis(100)), false, true);
            assertThat(levels()).isEqualTo(2);
            awaitEnd(both);
        }
        holds.enter(LockRequest.of("third"), false, true);

        assertThat(levels()).isEqualTo(1);
        assertThat(thread().levels()).hasSize(2);
        for (int i = 0; i < 3; i++) {
            assertThat(view(both).release()).isEqualTo(ReleaseResult.LOST);
        }
        assertThat(stock.isHeld()).isTrue();
        assertThat(stock.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(isTaken()).isFalse();
    }

    @Test
    void aLostHoldStaysTheThreadsHoldWhileItsBodyRuns() {
        NestedLease level = enter();
        lose(level);

        assertThatThrownBy(this::enter).isInstanceOf(LockLostException.class);

        level.close();
        assertThat(enter().isHeld()).isTrue();
    }

    /** A stage is on no stack: only what runs as a part of it is inside. */
    @Test
    void aLockThatLapsedBeginsAnewAlthoughAStageOfItGoesOn() {
        holds.enter(REQUEST.withLeaseTime(Duration.ofSeconds(2)), false, true);
        NestedLease stage = enterAsync(List.of());
        awaitEnd(REQUEST);
        Runnable leave = LockContext.enterThread(stage);
        assertThatThrownBy(this::enter).isInstanceOf(LockLostException.class);
        leave.run();

        NestedLease again = holds.enter(REQUEST, false, true);

        assertThat(again.isHeld()).isTrue();
        assertThat(levels()).isEqualTo(1);
        onAnotherThread(
                () -> assertThatThrownBy(() -> enterAsync(List.of(stage))).hasCauseInstanceOf(LockLostException.class));
        assertThat(stage.release()).isEqualTo(ReleaseResult.LOST);
        unlock();
        assertThat(view(REQUEST).release()).isEqualTo(ReleaseResult.LOST);
        assertFreeAndForgotten();
    }

    @Test
    void aLockThatWasLostIsReportedOnceAlthoughAStageOfItGoesOn() {
        NestedLease locked = holds.enter(REQUEST, false, true);
        NestedLease stage = enterAsync(List.of());
        lose(locked);

        assertThatThrownBy(this::enter).isInstanceOf(LockLostException.class);
        assertThat(enter().release()).isEqualTo(ReleaseResult.RELEASED);

        assertThat(stage.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(view(REQUEST).release()).isEqualTo(ReleaseResult.LOST);
        assertFreeAndForgotten();
    }

    @Test
    void aLeaseOfItsOwnIsRefusedToTheThreadThatHoldsTheName() {
        enter();

        assertThatIllegalStateException()
                .isThrownBy(() -> holds.acquire(REQUEST))
                .withMessageContaining("'stock'");
        onAnotherThread(() -> assertThatExceptionOfType(LockNotAcquiredException.class)
                .isThrownBy(() -> holds.acquire(REQUEST.withWaitTime(Duration.ZERO))));
    }

    @Test
    void aLevelGoesOnWithoutTheThreadThatLeavesIt() {
        NestedLease level = enterAsync(List.of());
        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);

        Runnable leave = LockContext.enterThread(level);
        assertThat(levels()).isEqualTo(1);
        leave.run();

        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
        assertThat(level.isHeld()).isTrue();
        onAnotherThread(level::close);
        assertFreeAndForgotten();
    }

    @Test
    void aLevelOfNoThreadOutlivesTheThreadsOwn() {
        NestedLease own = enter();
        NestedLease stage = enterAsync(List.of());

        own.close();

        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
        assertThat(stage.isHeld()).isTrue();
        stage.close();
        assertFreeAndForgotten();
    }

    @Test
    void whatLeasesAroundTheCallerHoldIsEnteredAgain() {
        NestedLease outer = enterAsync(List.of());

        onAnotherThread(() -> {
            NestedLease inner = enterAsync(List.of(outer));
            assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
            outer.close();
            assertThat(inner.isHeld()).isTrue();
            inner.close();
        });

        assertFreeAndForgotten();
    }

    /** As a thread of a pool that goes on with a publisher, and did not unlock what it held before. */
    @Test
    void whatLeasesAroundTheCallerHoldIsEnteredAgainAlsoWhereAnUnlockIsMissing() {
        holds.enter(REQUEST.withLeaseTime(Duration.ofMillis(100)), false, true);
        awaitEnd(REQUEST);
        AtomicReference<NestedLease> stage = new AtomicReference<>();
        onAnotherThread(() -> stage.set(enterAsync(List.of())));

        CompletableFuture<LockLease> inner = holds.enterAsync(REQUEST, List.of(stage.get()));

        assertThat(inner).succeedsWithin(Duration.ofSeconds(20));
        assertThat(inner.join().fencingToken()).isEqualTo(stage.get().fencingToken());
        stage.get().close();
        ((NestedLease) inner.join()).close();
        assertThat(view(REQUEST).release()).isEqualTo(ReleaseResult.LOST);
        assertFreeAndForgotten();
    }

    @Test
    void whatIsOverOrOfAnotherTemplateIsNotEnteredAgain() {
        NestedLease over = enterAsync(List.of());
        over.close();
        LockManager elsewhere = manager(new MemoryLockStore());
        ReentrantHolds others = new ReentrantHolds(elsewhere, null);
        NestedLease foreign = others.enter(REQUEST, true, true);

        NestedLease own = enterAsync(List.of(over, foreign));

        assertThat(own.fencingToken()).as("acquired anew").isGreaterThan(over.fencingToken());
        own.close();
        assertThat(foreign.isHeld()).isTrue();
        elsewhere.close();
    }

    @Test
    void aHoldIsThatOfAReaderWhenOnlyLevelsThatReadAreLeft() {
        NestedLease outer = enter();
        NestedLease reading = holds.enter(READ, true, true);

        outer.close();

        assertThat(reading.isHeld()).isTrue();
        assertThat(reading.mode()).isEqualTo(LockMode.READ);
        assertThat(manager.isLocked("stock", LockMode.READ)).isTrue();
        assertThatExceptionOfType(LockUpgradeException.class).isThrownBy(this::enter);
        reading.close();
        assertFreeAndForgotten();
    }

    /** It may wait for another thread, which may share the hold. */
    @Test
    void aListenerHearsOfADowngradeWhileOtherThreadsMayEnterTheHold() {
        AtomicReference<Runnable> uponDowngrade = new AtomicReference<>();
        LockManager told = manager(store.peer(), new LockListener() {
            @Override
            public void onDowngraded(Downgraded event) {
                uponDowngrade.get().run();
            }
        });
        ReentrantHolds others = new ReentrantHolds(told, null);
        NestedLease outer = others.enter(REQUEST, true, true);
        NestedLease reading = (NestedLease) others.enterAsync(READ, List.of()).join();
        List<String> heard = new ArrayList<>();
        uponDowngrade.set(() -> heard.add(CompletableFuture.supplyAsync(() -> {
                    others.enterAsync(READ, List.of(reading)).join().close();
                    assertThatThrownBy(() ->
                                    others.enterAsync(REQUEST, List.of(reading)).join())
                            .hasCauseInstanceOf(LockUpgradeException.class);
                    return "entered";
                })
                .completeOnTimeout("waits for the listener", 10, TimeUnit.SECONDS)
                .join()));

        outer.close();

        assertThat(heard).containsExactly("entered");
        reading.close();
        assertThat(isTaken()).isFalse();
        told.close();
    }

    /** A callback of a level that has ended is not called by the levels that go on. */
    @Test
    void theCallbacksOfALevelEndWithIt() {
        NestedLease outer = enter();
        NestedLease inner = enter();
        CompletableFuture<LockLostException> ended = new CompletableFuture<>();
        CompletableFuture<LockLostException> told = new CompletableFuture<>();
        inner.onLost(ended::complete);
        outer.onLost(told::complete);
        inner.close();

        lose(outer);

        assertThat(told).succeedsWithin(Duration.ofSeconds(30));
        assertThat(ended).isNotDone();
    }

    private NestedLease enter() {
        return holds.enter(REQUEST, true, true);
    }

    private NestedLease enterAsync(List<NestedLease> enclosing) {
        return (NestedLease) holds.enterAsync(REQUEST, enclosing).join();
    }

    private DistributedLock view(LockRequest request) {
        return new ThreadOwnedLock(holds, request);
    }

    private void awaitEnd(LockRequest request) {
        Thread here = Thread.currentThread();
        Awaitility.await().until(() -> !view(request).isHeldByThread(here));
    }

    private void unlock() {
        view(REQUEST).unlock();
    }

    private LockOwner thread() {
        return holds.known(Thread.currentThread());
    }

    private int levels() {
        return view(REQUEST).getHoldCount();
    }

    private boolean isTaken() {
        return manager.isLocked("stock", LockMode.EXCLUSIVE);
    }

    private void assertFreeAndForgotten() {
        assertThat(isTaken()).isFalse();
        assertThat(levels()).isZero();
        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
    }

    private void lose(NestedLease lease) {
        assertThat(store.revoke("stock").join()).isTrue();
        Awaitility.await().until(() -> !lease.isHeld());
    }

    private static void onAnotherThread(Runnable work) {
        CompletableFuture.runAsync(work).join();
    }

    @Test
    void eachLookAtALostSetOfLevelsHasAnExceptionOfItsOwn() {
        NestedLease outer = enter();
        NestedLease both = holds.enter(LockRequest.of("stock", "other").withWaitTime(Duration.ZERO), true, true);
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
    void aHoldGoesOnThatIsExtendedForAnotherLevelWhileItsOwnEnds() {
        CompletableFuture<Boolean> answered = new CompletableFuture<>();
        LockManager slow = manager(new DelegatingStore(store.peer()) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                super.renew(commands);
                return List.of(answered);
            }
        });
        ReentrantHolds others = new ReentrantHolds(slow, null);
        NestedLease outer = others.enter(REQUEST.withLeaseTime(Duration.ofSeconds(5)), true, true);
        CompletableFuture<LockLease> inner =
                others.enterAsync(REQUEST.withLeaseTime(Duration.ofSeconds(60)), List.of());

        outer.close();
        assertThat(inner).isNotDone();
        answered.complete(true);

        assertThat(inner).succeedsWithin(Duration.ofSeconds(20)).satisfies(lease -> assertThat(lease.remaining())
                .isGreaterThan(Duration.ofSeconds(30)));
        inner.join().close();
        assertThat(isTaken()).isFalse();
        slow.close();
    }

    /** As the wait for a lock does in the same form. */
    @Test
    void anInterruptEndsTheWaitForAnExtension() {
        CompletableFuture<Boolean> answered = new CompletableFuture<>();
        AtomicReference<Runnable> uponRenewal = new AtomicReference<>(Thread.currentThread()::interrupt);
        LockManager slow = manager(new DelegatingStore(store.peer()) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                uponRenewal.get().run();
                return List.of(answered);
            }
        });
        ReentrantHolds others = new ReentrantHolds(slow, null);
        DistributedLock lock = new ThreadOwnedLock(others, REQUEST);
        Duration longer = Duration.ofSeconds(60);
        lock.lock(Duration.ofSeconds(20));

        assertThatThrownBy(() -> lock.lockInterruptibly(longer)).isInstanceOf(InterruptedException.class);
        assertThatThrownBy(() -> lock.tryLock(longer, longer)).isInstanceOf(InterruptedException.class);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        assertThatThrownBy(() -> others.enter(REQUEST.withLeaseTime(longer), true, true))
                .isInstanceOf(LockInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(1);

        uponRenewal.set(() -> {
            Thread.currentThread().interrupt();
            answered.completeAsync(() -> true);
        });
        lock.lock(longer);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        assertThat(lock.remaining()).isGreaterThan(Duration.ofSeconds(20));
        lock.unlock();
        lock.unlock();
        slow.close();
    }

    /** As where it had ended just before. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLockThatEndsAsAskedDuringItsExtensionBeginsAnew(boolean waits) {
        AtomicReference<Runnable> uponRenewal = new AtomicReference<>(() -> {});
        LockManager slow = manager(new DelegatingStore(store.peer()) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                List<CompletableFuture<Boolean>> answers = super.renew(commands);
                uponRenewal.get().run();
                return answers;
            }
        });
        ReentrantHolds others = new ReentrantHolds(slow, null);
        LockRequest both = REQUEST.withNames(List.of("stock", "other"));
        LockRequest longer = both.withLeaseTime(Duration.ofSeconds(60));
        NestedLease other = others.enter(REQUEST.withNames(List.of("other")), false, true);
        NestedLease brief = others.enter(REQUEST.withLeaseTime(Duration.ofSeconds(2)), false, true);
        uponRenewal.set(() -> Awaitility.await().until(() -> !brief.isHeld()));

        LockLease again = waits
                ? others.enter(longer, false, true)
                : others.enterAsync(longer, List.of()).join();

        uponRenewal.set(() -> {});
        assertThat(again.isHeld()).isTrue();
        // Where the store ended the lock a moment later, a grant gave it, which lasts for 3 s until it is renewed.
        Awaitility.await().untilAsserted(() -> assertThat(again.remaining()).isGreaterThan(Duration.ofSeconds(10)));
        other.close();
        assertThat(again.isHeld()).isTrue();
        again.close();
        assertThat(new ThreadOwnedLock(others, REQUEST).release()).isEqualTo(ReleaseResult.LOST);
        assertThat(others.known(Thread.currentThread())).isSameAs(LockOwner.OUTSIDE);
        assertThat(both.names()).noneMatch(name -> manager.isLocked(name, LockMode.EXCLUSIVE));
        slow.close();
    }

    @Test
    void whereOneOfSeveralIsNotExtendedTheOthersStayAsTheyWere() {
        AtomicReference<CompletableFuture<Boolean>> ofOther = new AtomicReference<>();
        LockManager faulty = manager(new DelegatingStore(store.peer()) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                return commands.get(0).name().equals("other") ? List.of(ofOther.get()) : super.renew(commands);
            }
        });
        ReentrantHolds others = new ReentrantHolds(faulty, null);
        LockRequest brief = REQUEST.withLeaseTime(Duration.ofSeconds(20));
        NestedLease stock = others.enter(brief, true, true);
        NestedLease other = others.enter(brief.withNames(List.of("other")), true, true);
        LockRequest both = REQUEST.withNames(List.of("stock", "other")).withLeaseTime(Duration.ofSeconds(60));

        ofOther.set(CompletableFuture.failedFuture(new StoreException("it is down", null)));
        assertThatThrownBy(() -> others.enter(both, true, true)).isInstanceOf(LockStoreException.class);
        assertThat(stock.remaining()).isLessThanOrEqualTo(Duration.ofSeconds(20));
        assertThat(other.isHeld()).isTrue();

        ofOther.set(CompletableFuture.completedFuture(false));
        assertThatThrownBy(() -> others.enter(both, true, true)).isInstanceOf(LockLostException.class);
        assertThat(stock.remaining()).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(20));
        assertThat(stock.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(other.release()).isEqualTo(ReleaseResult.LOST);
        faulty.close();
    }

    @Test
    void anExtensionForAnotherLevelShortensNothingThatWasExtendedMeanwhile() {
        CompletableFuture<Boolean> answered = new CompletableFuture<>();
        AtomicInteger renewals = new AtomicInteger();
        LockManager slow = manager(new DelegatingStore(store.peer()) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                List<CompletableFuture<Boolean>> answers = super.renew(commands);
                return renewals.incrementAndGet() == 1 ? List.of(answered) : answers;
            }
        });
        ReentrantHolds others = new ReentrantHolds(slow, null);
        NestedLease outer = others.enter(REQUEST.withLeaseTime(Duration.ofSeconds(5)), true, true);
        CompletableFuture<LockLease> inner =
                others.enterAsync(REQUEST.withLeaseTime(Duration.ofSeconds(10)), List.of());

        assertThat(outer.extend(Duration.ofSeconds(60))).isTrue();
        answered.complete(true);

        assertThat(inner).succeedsWithin(Duration.ofSeconds(20));
        assertThat(outer.remaining()).isGreaterThan(Duration.ofSeconds(30));
        inner.join().close();
        outer.close();
        slow.close();
    }

    @Test
    void aLeaseThatItsCallerDoesNotReceiveIsGivenBack() {
        InternalError planted = new InternalError("as the test wants it");
        DelegatingLease lease = new DelegatingLease(REQUEST) {
            @Override
            public void reportIfForgotten(LockLease given, StackWalker.@Nullable StackFrame caller) {
                throw planted;
            }
        };
        LockManager giving = failing("acquire", () -> lease);

        assertThatThrownBy(() -> new ReentrantHolds(giving, null).acquire(REQUEST))
                .isSameAs(planted);

        assertThat(lease.isReleased()).isTrue();
    }

    /** As where no thread can be had, and no memory for the task that waits for one. */
    @Test
    void anErrorWhereALevelIsToBeToldOfItsExtensionDoesNotSilenceIt() throws Exception {
        AtomicBoolean failed = new AtomicBoolean();
        ReentrantHolds refused = new ReentrantHolds(refusingOnce(failed), null);
        LockRequest fixed = REQUEST.withLeaseTime(Duration.ofSeconds(20));
        try (NestedLease outer = refused.enter(fixed, true, true)) {
            CompletableFuture<LockLease> inner =
                    refused.enterAsync(fixed.withLeaseTime(Duration.ofSeconds(60)), List.of(outer));

            inner.get(20, TimeUnit.SECONDS).close();
            assertThat(failed).isTrue();
        }
    }

    @Test
    void anErrorWhereACallerIsToBeToldOfAKeptLeaseDoesNotSilenceIt() throws Exception {
        AtomicBoolean failed = new AtomicBoolean();
        List<LockLease> kept = new ArrayList<>();
        ReentrantHolds refused = new ReentrantHolds(refusingOnce(failed), (request, reentry) -> kept::add);
        CompletableFuture<LockLease> result = new CompletableFuture<>();

        refused.acquireAsync(REQUEST, result, lease -> lease);

        result.get(20, TimeUnit.SECONDS).close();
        assertThat(failed).isTrue();
        kept.forEach(LockLease::close);
    }

    private LockManager refusingOnce(AtomicBoolean failed) {
        return failing("execute", () -> {
            if (failed.compareAndSet(false, true)) {
                throw new InternalError("as the test wants it");
            }
            return null;
        });
    }

    /** Returns the manager, of which one method does something else first, and nothing else where that has a result. */
    private LockManager failing(String name, Supplier<@Nullable Object> first) {
        return (LockManager) Proxy.newProxyInstance(
                LockManager.class.getClassLoader(), new Class<?>[] {LockManager.class}, (proxy, method, arguments) -> {
                    Object given = method.getName().equals(name) ? first.get() : null;
                    return given != null ? given : method.invoke(manager, arguments);
                });
    }

    /** As where there is no memory for the levels that are left. */
    @Test
    void aLevelIntoWhoseEndAnErrorCameDoesNotKeepTheHold() {
        NestedLease outer = enter();
        NestedLease inner = enter();
        inner.end();

        assertThat(outer.release()).isEqualTo(ReleaseResult.RELEASED);

        assertThat(isTaken()).isFalse();
    }

    @Test
    void anErrorBehindABodyDoesNotHideWhatThatThrew() {
        Error failure = new InternalError("as the test wants it");
        Error thrown = new AssertionError("thrown by the body");
        LockManager failing = manager(new MemoryLockStore(), new LockListener() {
            @Override
            public void onBodyEnds(Body event) {
                throw failure;
            }
        });
        try (NestedLease level = new ReentrantHolds(failing, null).enter(REQUEST, true, true)) {
            assertThatThrownBy(() -> level.run(lease -> {
                        throw thrown;
                    }))
                    .isSameAs(thrown)
                    .hasSuppressedException(failure);
        }
        failing.close();
    }

    @Test
    void anErrorInTheEndOfOneHoldDoesNotKeepTheOthers() {
        NestedLease level = new NestedLease(holds, LockRequest.of("stock", "other"), NestedLease.Kind.BODY);
        LockManager.Lease other = new DelegatingLease(LockRequest.of("other"));
        level.begin(new DelegatingLease(LockRequest.of("stock")) {
            @Override
            public ReleaseResult release() {
                throw new StackOverflowError();
            }
        });
        level.begin(other);

        assertThatExceptionOfType(StackOverflowError.class).isThrownBy(level::release);

        assertThat(other.isReleased()).isTrue();
    }

    @Test
    void anUnlockIsOwedUnderTheNameThatWasLocked() {
        LockRequest other = LockRequest.of("other").withWaitTime(Duration.ofSeconds(30));
        NestedLease both = holds.enter(
                LockRequest.of("stock", "other")
                        .withWaitTime(Duration.ofSeconds(30))
                        .withLeaseTime(Duration.ofSeconds(2)),
                true,
                true);
        holds.enter(other, false, true);
        both.close();
        awaitEnd(other);

        holds.enter(other, false, true);
        view(other).unlock();
        view(other).unlock();

        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(() -> view(other).unlock());
        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
    }

    @Test
    void eachMissingUnlockIsOwed() {
        int missing = 1_500;
        for (int i = 0; i <= missing; i++) {
            holds.enter(REQUEST, false, true).leases().get(0).release();
        }
        unlock();

        assertThat(thread().owed()).as("counted, not kept one by one").hasSize(1);
        for (int i = 0; i < missing; i++) {
            assertThat(view(REQUEST).release()).isEqualTo(ReleaseResult.LOST);
        }
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(this::unlock);
        assertThat(thread()).isSameAs(LockOwner.OUTSIDE);
    }

    @Test
    void locksThatLapseWithoutTheirUnlocksAreForgottenWhenAnotherIsEntered() {
        for (int i = 0; i < 20; i++) {
            holds.enter(
                    LockRequest.of("lapse-" + i).withWaitTime(Duration.ZERO).withLeaseTime(Duration.ofMillis(100)),
                    false,
                    true);
        }
        awaitEnd(LockRequest.of("lapse-19"));

        NestedLease level = enter();

        assertThat(thread().levels()).containsExactly(level);
        for (int i = 0; i < 20; i++) {
            assertThat(view(LockRequest.of("lapse-" + i)).release()).isEqualTo(ReleaseResult.LOST);
        }
        level.close();
        assertFreeAndForgotten();
    }

    @Test
    void threadsThatEndedWithoutTheirUnlocksAreForgottenWhenTheirLocksAreFree() throws Exception {
        List<Thread> ended = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            LockRequest request = LockRequest.of("ended-" + i).withWaitTime(Duration.ZERO);
            Thread thread = new Thread(() -> {
                NestedLease level = holds.enter(request, false, true);
                assertThat(store.revoke(level.name()).join()).isTrue();
                Awaitility.await().pollDelay(Duration.ZERO).until(() -> !level.isHeld());
            });
            thread.start();
            thread.join();
            ended.add(thread);
        }

        assertThat(known(ended)).as("of 100, whose locks were taken away").isLessThan(60);
    }

    @Test
    void aThreadThatEndedWhileItHeldALockIsKnownAsItsHolder() throws Exception {
        List<Thread> ended = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            LockRequest request = LockRequest.of("kept-" + i).withWaitTime(Duration.ZERO);
            Thread thread = new Thread(() -> holds.enter(request, false, true));
            thread.start();
            thread.join();
            ended.add(thread);
        }

        assertThat(known(ended)).isEqualTo(40);
    }

    private long known(List<Thread> threads) {
        return threads.stream()
                .filter(thread -> !holds.known(thread).equals(LockOwner.OUTSIDE))
                .count();
    }
}
