/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.contract.FaultyStore.Fault;
import io.lockkeeper.contract.FaultyStore.Method;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Errors in the middle of everything: whoever asks is answered, later callers get the lock or end at their wait, and in
 * the end nothing is left behind.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(240)
public abstract class FaultContract {

    private static final Duration LEASE = Duration.ofSeconds(9);
    private static final Duration WAIT = Duration.ofMillis(200);

    /** Longer than a store needs to be given up, and a lease to end, on a machine that is busy. */
    private static final Duration BOUND = Duration.ofSeconds(60);

    /** A stack with room for so many small frames has room for any step. */
    private static final int MOST_ROOM = 400;

    private static final int STEP = 20;

    private final List<LockTemplate> templates = new ArrayList<>();
    private String name = "none";

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    @BeforeEach
    void nameTheLock(TestInfo test) {
        name = test.getDisplayName().replaceAll("\\W+", "-") + System.nanoTime();
    }

    @AfterEach
    void everyTemplateCloses() {
        for (LockTemplate template : templates) {
            assertThat(CompletableFuture.runAsync(template::close)).succeedsWithin(BOUND);
        }
    }

    private LockTemplate template(LockStore store, LockListener... listeners) {
        LockTemplate.Builder builder =
                LockTemplate.builder(store).leaseTime(LEASE).shutdownWait(Duration.ZERO);
        Stream.of(listeners).forEach(builder::listener);
        LockTemplate template = builder.build();
        templates.add(template);
        return template;
    }

    private static LockRequest waiting(String name, LockMode mode) {
        return LockRequest.of(name).withMode(mode).withWaitTime(WAIT);
    }

    /** Asks for a lock on another thread, and gives it back; what comes of it does not matter, but that it comes. */
    private static void isAnswered(LockTemplate template, LockRequest request) {
        CompletableFuture<String> answer = CompletableFuture.supplyAsync(() -> outcome(template, request));
        assertThat(answer).succeedsWithin(BOUND);
    }

    private static String outcome(LockTemplate template, LockRequest request) {
        try (LockLease lease = template.acquire(request)) {
            return lease.name();
        } catch (LockException refused) {
            return refused.toString();
        }
    }

    /** Another instance gets each lock, and this one keeps nothing for any. */
    private void isFreeInTheEnd(LockTemplate template, List<String> names) {
        LockTemplate other = template(store());
        for (String free : names) {
            Awaitility.await().pollDelay(Duration.ZERO).atMost(BOUND).untilAsserted(() -> assertThat(
                            outcome(other, waiting(free, LockMode.EXCLUSIVE)))
                    .isEqualTo(free));
        }
        Awaitility.await().atMost(BOUND).untilAsserted(() -> assertThat(template.toString())
                .contains("held=0", "names=0"));
    }

    static Stream<Arguments> faults() {
        return Stream.concat(
                Stream.of(Fault.values()).map(fault -> Arguments.of(fault, LockMode.EXCLUSIVE)),
                Stream.of(LockMode.FAIR, LockMode.READ).map(mode -> Arguments.of(Fault.THROWS_AFTER, mode)));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void aQuestionThatFailsEndsNobodysTurn(Fault fault, LockMode mode) {
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = template(store);
        store.failNext(1, Method.ACQUIRE, fault);
        isAnswered(template, waiting(name, mode));
        assertThat(store.hasFailed()).isTrue();
        isAnswered(template, waiting(name, mode));
        isFreeInTheEnd(template, List.of(name));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void aReleaseThatFailsFreesTheLock(Fault fault, LockMode mode) {
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = template(store);
        LockLease lease = template.acquire(LockRequest.of(name).withMode(mode));
        store.failNext(1, Method.RELEASE, fault);
        assertThat(CompletableFuture.runAsync(lease::close)).succeedsWithin(BOUND);
        assertThat(store.hasFailed()).isTrue();
        isAnswered(template, waiting(name, mode));
        isFreeInTheEnd(template, List.of(name));
    }

    @ParameterizedTest
    @EnumSource
    void aHandOverThatFailsReachesWhoWaits(Fault fault) {
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = LockTemplate.builder(store)
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .handover(0, Duration.ZERO)
                .build();
        templates.add(template);
        LockLease lease = template.acquire(name);
        CompletableFuture<LockLease> next = template.acquireAsync(LockRequest.of(name));
        store.failNext(1, Method.HAND_OVER, fault);
        assertThat(CompletableFuture.runAsync(lease::close)).succeedsWithin(BOUND);
        assertThat(store.hasFailed()).isTrue();
        assertThat(next).succeedsWithin(BOUND).satisfies(LockLease::close);
        isFreeInTheEnd(template, List.of(name));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NEVER_ANSWERS")
    void aRenewalThatFailsIsMadeAgain(Fault fault) {
        AtomicInteger renewed = new AtomicInteger();
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = template(store, new LockListener() {
            @Override
            public void onRenewed(Renewed event) {
                renewed.incrementAndGet();
            }
        });
        LockLease lease = template.acquire(name);
        store.failNext(1, Method.RENEW, fault);
        Awaitility.await().atMost(BOUND).until(store::hasFailed);
        Awaitility.await().atMost(BOUND).until(() -> renewed.get() > 0);
        assertThat(lease.isHeld()).isTrue();
        lease.close();
        isFreeInTheEnd(template, List.of(name));
    }

    @Test
    void anInnerLeaseTimeThatIsNotAnsweredEndsWithTheWait() {
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = template(store);
        String second = name + "-2";
        LockRequest longer = LockRequest.of(name, second).withWaitTime(WAIT).withLeaseTime(LEASE.multipliedBy(9));
        assertThat(CompletableFuture.runAsync(() -> {
                    DistributedLock outer = template.lock(name);
                    outer.lock(LEASE);
                    store.failNext(Integer.MAX_VALUE, Method.RENEW, Fault.NEVER_ANSWERS);

                    assertThatThrownBy(() -> template.lock(longer).tryLock(WAIT))
                            .isInstanceOf(LockStoreException.class);
                    assertThat(template.executeStage(longer, lease -> null))
                            .failsWithin(BOUND)
                            .withThrowableThat()
                            .withCauseInstanceOf(LockStoreException.class);

                    assertThat(outer.getHoldCount()).isOne();
                    assertThat(outer.remaining()).isBetween(Duration.ofMillis(1), LEASE);
                    assertThat(template.lock(second).isLocked()).isFalse();
                    outer.unlock();
                }))
                .succeedsWithin(BOUND);
        isFreeInTheEnd(template, List.of(name, second));
    }

    /** The refusal names the holder's instance, if that can be found out. */
    @ParameterizedTest
    @EnumSource
    void aRefusalNeedsNoName(Fault fault) {
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = template(store);
        LockLease held = template(store()).acquire(name);
        store.failNext(Integer.MAX_VALUE, Method.INSTANCES, fault);
        isAnswered(template, waiting(name, LockMode.EXCLUSIVE));
        held.close();
        isFreeInTheEnd(template, List.of(name));
    }

    @Test
    void aListenerThatThrowsErrorsBreaksNothing() {
        LockTemplate template = template(store(), new ThrowingListener());
        LockTemplate other = template(store());
        isAnswered(template, waiting(name, LockMode.EXCLUSIVE));
        assertThat(CompletableFuture.runAsync(() -> template.run(name, lease -> {})))
                .succeedsWithin(BOUND);
        LockLease lost = template.acquire(name);
        CompletableFuture<Boolean> told = new CompletableFuture<>();
        lost.onLost(loss -> told.complete(true));
        other.inspector().forceRelease(name);
        assertThat(told).succeedsWithin(BOUND);
        isAnswered(template, waiting(name, LockMode.EXCLUSIVE));
        CompletableFuture<LockLease> future =
                template.acquireAsync(LockRequest.of(name).withMode(LockMode.FAIR));
        assertThat(future).succeedsWithin(BOUND).satisfies(LockLease::close);
        isFreeInTheEnd(template, List.of(name));
    }

    @Test
    void whatHangsOnAFutureMayThrowErrors() {
        LockTemplate template = template(store());
        LockLease held = template.acquire(name);
        List<CompletableFuture<LockLease>> futures = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            CompletableFuture<LockLease> future = template.acquireAsync(LockRequest.of(name));
            futures.add(future);
            future.whenComplete((lease, failure) -> {
                lease.close();
                throw new StackOverflowError("in what hangs on a future, as the test wants it");
            });
        }
        held.close();
        futures.forEach(future -> assertThat(future).succeedsWithin(BOUND));
        isAnswered(template, waiting(name, LockMode.EXCLUSIVE));
        isFreeInTheEnd(template, List.of(name));
    }

    @Test
    void answersMayComeWhereTheStackIsNearlyExhausted() {
        FaultyStore store = new FaultyStore(store());
        LockTemplate template = template(store);
        warmUp(template);
        AtomicInteger room = new AtomicInteger();
        store.answering = new FaultyStore.Answering() {
            @Override
            public <T> CompletableFuture<T> through(CompletableFuture<T> answer) {
                CompletableFuture<T> late = new CompletableFuture<>();
                answer.whenComplete((value, failure) -> DeepThread.run(room.get(), () -> {
                    if (failure == null) {
                        late.complete(value);
                    } else {
                        late.completeExceptionally(failure);
                    }
                }));
                return late;
            }
        };
        List<String> names = names();
        List<CompletableFuture<?>> callers = new ArrayList<>();
        for (String each : names) {
            room.addAndGet(STEP);
            CompletableFuture<LockLease> caller = template.acquireAsync(LockRequest.of(each));
            callers.add(caller.handle((lease, failure) -> {
                if (lease != null) {
                    lease.close();
                }
                return each;
            }));
        }
        callers.forEach(caller -> assertThat(caller).succeedsWithin(BOUND));
        names.forEach(each -> isAnswered(template, waiting(each, LockMode.EXCLUSIVE)));
        isFreeInTheEnd(template, names);
    }

    /**
     * Uses everything once. A class whose initialization has no room can never be used again, whatever its users do;
     * that is the platform's way, and not what is tried here.
     */
    private void warmUp(LockTemplate template) {
        LockTemplate other = template(store());
        Stream.of(LockMode.EXCLUSIVE, LockMode.FAIR, LockMode.READ).forEach(mode -> {
            isAnswered(template, waiting(name, mode));
            LockLease held = other.acquire(name);
            isAnswered(template, waiting(name, mode));
            CompletableFuture<LockLease> next =
                    template.acquireAsync(LockRequest.of(name).withMode(mode));
            CompletableFuture<LockLease> cancelled =
                    template.acquireAsync(LockRequest.of(name).withMode(mode));
            cancelled.cancel(true);
            held.close();
            assertThat(next).succeedsWithin(BOUND).satisfies(LockLease::close);
            template.run(LockRequest.of(name).withMode(mode), lease -> {});
        });
    }

    private List<String> names() {
        return IntStream.range(0, MOST_ROOM / STEP)
                .mapToObj(i -> name + "-" + i)
                .toList();
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR", "READ"})
    void aCallerMayComeWhereItsStackIsNearlyExhausted(LockMode mode) {
        LockTemplate template = template(store());
        warmUp(template);
        eachWithLittleRoom((each, room) ->
                DeepThread.run(room, () -> template.acquire(waiting(each, mode)).close()));
        names().forEach(each -> isAnswered(template, waiting(each, mode)));
        isFreeInTheEnd(template, names());
    }

    @Test
    void aBodyMayBeginWhereTheStackIsNearlyExhausted() {
        LockTemplate template = template(store());
        warmUp(template);
        eachWithLittleRoom((each, room) ->
                DeepThread.run(room, () -> template.run(waiting(each, LockMode.EXCLUSIVE), lease -> {})));
        names().forEach(each -> isAnswered(template, waiting(each, LockMode.EXCLUSIVE)));
        isFreeInTheEnd(template, names());
    }

    @Test
    void aReleaseMayComeWhereTheStackIsNearlyExhausted() {
        LockTemplate template = template(store());
        warmUp(template);
        eachWithLittleRoom((each, room) -> {
            LockLease lease = template.acquire(each);
            return DeepThread.run(room, lease::close).thenAccept(failure -> {
                // Where not even the method began, the lease is still in the hands of the caller.
                if (failure != null) {
                    lease.close();
                }
            });
        });
        names().forEach(each -> isAnswered(template, waiting(each, LockMode.EXCLUSIVE)));
        isFreeInTheEnd(template, names());
    }

    /** What a stack without room does with a future is the platform's: that it is ended counts, and what was asked. */
    @Test
    void aCallerMayGiveUpWhereTheStackIsNearlyExhausted() throws Exception {
        LockTemplate template = template(store());
        warmUp(template);
        LockTemplate other = template(store());
        List<CompletableFuture<LockLease>> futures = new ArrayList<>();
        List<LockLease> held = new ArrayList<>();
        eachWithLittleRoom((each, room) -> {
            held.add(other.acquire(each));
            CompletableFuture<LockLease> future = template.acquireAsync(LockRequest.of(each));
            futures.add(future);
            return DeepThread.run(room, () -> future.cancel(true));
        });
        held.forEach(LockLease::close);
        for (CompletableFuture<LockLease> future : futures) {
            // Again, where there was no room for the first time.
            future.cancel(true);
            if (!future.isCompletedExceptionally()) {
                future.get(BOUND.toMillis(), TimeUnit.MILLISECONDS).close();
            }
        }
        names().forEach(each -> isAnswered(template, waiting(each, LockMode.EXCLUSIVE)));
        isFreeInTheEnd(template, names());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aStageMayEndWhereTheStackIsNearlyExhausted(boolean asynchronous) {
        eachStageEndsWithLittleRoom(asynchronous, (stage, result) -> stage.complete("done"));
    }

    @Test
    void theResultOfAStageMayBeEndedWhereTheStackIsNearlyExhausted() {
        eachStageEndsWithLittleRoom(false, (stage, result) -> result.cancel(true));
    }

    /** What a stack without room does with a future is the platform's: it may have to be ended once more. */
    private void eachStageEndsWithLittleRoom(
            boolean asynchronous, BiConsumer<CompletableFuture<String>, CompletableFuture<String>> end) {
        LockTemplate template = template(store());
        warmUp(template);
        List<CompletableFuture<String>> results = new ArrayList<>();
        eachWithLittleRoom((each, room) -> {
            CompletableFuture<String> stage = new CompletableFuture<>();
            CountDownLatch begun = new CountDownLatch(1);
            Function<LockLease, CompletableFuture<String>> work = lease -> {
                begun.countDown();
                return stage;
            };
            LockRequest request = LockRequest.of(each);
            CompletableFuture<String> result =
                    asynchronous ? template.executeAsync(request, work) : template.executeStage(request, work::apply);
            results.add(result);
            Awaitility.await().until(() -> begun.getCount() == 0 && stage.getNumberOfDependents() > 0);
            return DeepThread.run(room, () -> end.accept(stage, result)).thenAccept(failure -> {
                if (!stage.isDone() && !result.isDone()) {
                    end.accept(stage, result);
                }
            });
        });
        results.forEach(
                result -> assertThat(result.handle((done, failure) -> "ended")).succeedsWithin(BOUND));
        isFreeInTheEnd(template, names());
    }

    /** Something on a thread that has room for so many frames. */
    private interface Deed {
        CompletableFuture<?> begin(String name, int room);
    }

    private void eachWithLittleRoom(Deed deed) {
        int room = 0;
        for (String each : names()) {
            assertThat(deed.begin(each, room)).succeedsWithin(BOUND);
            room += STEP;
        }
    }

    @Test
    void aStageOfSomebodysOwnMayThrowErrors() throws Exception {
        LockTemplate template = template(store());
        CountDownLatch ran = new CountDownLatch(2);
        CompletableFuture<String> broken = new CompletableFuture<>() {
            @Override
            public CompletableFuture<String> whenComplete(
                    java.util.function.BiConsumer<? super String, ? super Throwable> action) {
                ran.countDown();
                throw new StackOverflowError("in a stage, as the test wants it");
            }
        };
        CompletableFuture<String> asynchronous = template.executeAsync(LockRequest.of(name), lease -> broken);
        assertThat(asynchronous).failsWithin(BOUND).withThrowableOfType(ExecutionException.class);
        CompletableFuture<String> until =
                template.executeUntil(LockRequest.of(name), List.of(), lease -> broken, stage -> stage);
        assertThat(until).failsWithin(BOUND).withThrowableOfType(ExecutionException.class);
        assertThat(ran.await(1, TimeUnit.SECONDS)).isTrue();
        isAnswered(template, waiting(name, LockMode.EXCLUSIVE));
        isFreeInTheEnd(template, List.of(name));
    }

    /** Throws an error at every event. */
    private static final class ThrowingListener implements LockListener {

        private static void fail() {
            throw new StackOverflowError("in a listener, as the test wants it");
        }

        @Override
        public void onAsked(Asked event) {
            fail();
        }

        @Override
        public void onAcquired(Acquired event) {
            fail();
        }

        @Override
        public void onNotAcquired(NotAcquired event) {
            fail();
        }

        @Override
        public void onGivenUp(GivenUp event) {
            fail();
        }

        @Override
        public void onBodyBegins(Body event) {
            fail();
        }

        @Override
        public void onBodyEnds(Body event) {
            fail();
        }

        @Override
        public void onDowngraded(Downgraded event) {
            fail();
        }

        @Override
        public void onReleased(Released event) {
            fail();
        }

        @Override
        public void onLost(Lost event) {
            fail();
        }

        @Override
        public void onRenewed(Renewed event) {
            fail();
        }

        @Override
        public void onRenewalFailed(RenewalFailed event) {
            fail();
        }
    }
}
