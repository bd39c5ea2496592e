/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.interceptor.MatrixCell.Kind;
import io.lockkeeper.interceptor.MatrixCell.Proxies;
import io.lockkeeper.interceptor.MatrixCell.Scenario;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.aop.support.AopUtils;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Every kind of result with every way in which a call can go, through both kinds of proxies. */
@TestInstance(Lifecycle.PER_CLASS)
class ReturnTypeMatrixTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final List<Class<? extends Kinds>> BEANS = List.of(
            PlainKinds.class,
            PatientKinds.class,
            SkippingKinds.class,
            FallingBackKinds.class,
            ReportingKinds.class,
            FailingKinds.class,
            InterruptingKinds.class);

    private final MemoryLockStore locks = new MemoryLockStore();
    private final Set<String> lost = ConcurrentHashMap.newKeySet();
    private final Map<Proxies, AnnotationConfigApplicationContext> applications = new EnumMap<>(Proxies.class);
    private final EventLedger ledger = new EventLedger();
    private LockTemplate elsewhere;

    @BeforeAll
    void start() {
        elsewhere = LockTemplate.builder(locks.peer()).build();
        for (Proxies proxies : Proxies.values()) {
            AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
            TestPropertyValues.of(
                            "lockkeeper.wait-time=0s", "spring.aop.proxy-target-class=" + (proxies == Proxies.CLASS))
                    .applyTo(application);
            application.registerBean(LockStore.class, () -> new FailingStore(locks.peer()));
            application.registerBean("losses", LockListener.class, this::losses);
            application.registerBean("ledger", LockListener.class, () -> ledger);
            BEANS.forEach(bean -> application.registerBean(bean.getSimpleName(), bean));
            application.register(AopAutoConfiguration.class, LockkeeperAutoConfiguration.class);
            application.refresh();
            applications.put(proxies, application);
        }
    }

    private LockListener losses() {
        return new LockListener() {
            @Override
            public void onLost(Lost event) {
                lost.addAll(event.request().names());
            }
        };
    }

    @AfterAll
    void stop() {
        applications.values().forEach(AnnotationConfigApplicationContext::close);
        elsewhere.close();
        ledger.assertBalanced();
    }

    @TestFactory
    @Execution(ExecutionMode.CONCURRENT)
    Stream<DynamicTest> cells() {
        return Arrays.stream(Scenario.values())
                .flatMap(scenario -> Arrays.stream(Kind.values())
                        .filter(scenario::appliesTo)
                        .flatMap(kind -> Arrays.stream(Proxies.values())
                                .map(proxies -> new MatrixCell(proxies, kind, scenario))))
                .map(cell -> DynamicTest.dynamicTest(cell.toString(), () -> new Cell(cell).run()));
    }

    /** One call, with a caller's thread of its own. */
    private final class Cell {

        private final Kind kind;
        private final Scenario scenario;
        private final String lock;
        private final Kinds bean;
        private final RuntimeException own;
        private final Play play;
        private final CompletableFuture<CompletableFuture<?>> called = new CompletableFuture<>();
        private final CompletableFuture<Boolean> callerClean = new CompletableFuture<>();
        private final CompletableFuture<Boolean> completerClean = new CompletableFuture<>();
        private final AtomicReference<Thread> caller = new AtomicReference<>();

        Cell(MatrixCell cell) {
            kind = cell.kind();
            scenario = cell.scenario();
            lock = (scenario.isUnreachable() ? "unreachable " : "") + cell;
            bean = applications.get(cell.proxies()).getBean(scenario.bean().getSimpleName(), Kinds.class);
            assertThat(AopUtils.isJdkDynamicProxy(bean)).isEqualTo(cell.proxies() == Proxies.INTERFACE);
            own = scenario.name().endsWith("WITH_FALLBACK")
                    ? new LockNotAcquiredException(List.of("another"), Duration.ZERO, 1, null)
                    : new IllegalStateException("own");
            boolean thrown = scenario == Scenario.THROWS || scenario == Scenario.THROWS_WITH_FALLBACK;
            play = new Play(scenario == Scenario.NAME_FAILS ? null : lock, thrown ? own : null);
        }

        void run() throws Exception {
            try (LockLease blocker = scenario.isBusy() ? elsewhere.acquire(lock) : null) {
                if (scenario == Scenario.SUCCEEDS_AT_ONCE) {
                    play.getLater().complete("done");
                }
                Thread thread = new Thread(this::call, "caller");
                caller.set(thread);
                thread.start();
                if (!kind.isBlocking()) {
                    called.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                }
                direct();
                verifyOutcome(called.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
                thread.join();
            }
            assertThat(callerClean).isCompletedWithValue(true);
            assertThat(completerClean.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            if (!scenario.begins()) {
                assertThat(play.getBegun()).isNotDone();
            } else if (scenario != Scenario.TIMES_OUT || play.getBegun().isDone()) {
                // On a slow machine the time may be up before the lock is there.
                assertThat(play.getBegun()).isCompletedWithValue(true);
            }
            verifyFree();
        }

        /** On the caller's thread. */
        private void call() {
            CompletableFuture<?> result =
                    scenario == Scenario.TIMES_OUT ? kind.callFor(bean, play, 500) : kind.call(bean, play);
            callerClean.complete(LockContext.current().isEmpty());
            result.whenComplete((value, failure) ->
                    completerClean.complete(LockContext.current().isEmpty()));
            called.complete(result);
        }

        /** On the test's thread, which is neither the caller's nor one of the template. */
        private void direct() throws Exception {
            if (scenario.begins()) {
                CompletableFuture.anyOf(play.getBegun(), called.thenCompose(result -> result))
                        .handle((first, failure) -> first)
                        .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
            if (scenario.isLoss()) {
                // No short lease: on a slow machine the answer to the acquisition may come after its end.
                assertThat(elsewhere.inspector().forceRelease(lock)).isTrue();
                Awaitility.await().atMost(PATIENCE).until(() -> lost.contains(lock));
            }
            switch (scenario) {
                case SUCCEEDS_LATER -> {
                    assertThat(elsewhere.tryAcquire(lock)).isEmpty();
                    play.getLater().complete("done");
                }
                case LOSS_REPORTED, LOSS_FAILS -> play.getLater().complete("done");
                case FAILS_LATER, FAILS_LATER_WITH_FALLBACK, LOSS_AND_FAILURE ->
                    play.getLater().completeExceptionally(own);
                case CANCELLED_WHILE_WAITING -> cancel();
                case CANCELLED_IN_THE_BODY -> {
                    play.getRunning().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                    cancel();
                }
                default -> {}
            }
        }

        private void cancel() throws Exception {
            if (kind.isBlocking()) {
                caller.get().interrupt();
            } else {
                called.get().cancel(true);
            }
        }

        private void verifyOutcome(CompletableFuture<?> result) {
            Awaitility.await().atMost(PATIENCE).until(result::isDone);
            AtomicReference<Object> value = new AtomicReference<>();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            result.whenComplete((returned, thrown) -> {
                value.set(returned);
                failure.set(thrown);
            });
            switch (scenario) {
                case SUCCEEDS_AT_ONCE, SUCCEEDS_LATER, LOSS_REPORTED -> returned(value, failure, "done");
                case BUSY_AND_SKIPPED -> returned(value, failure, null);
                case BUSY_WITH_FALLBACK -> returned(value, failure, "instead");
                case UNREACHABLE_WITH_FALLBACK -> returned(value, failure, "LockStoreException");
                case NAME_FAILS -> assertThat(failure.get()).isInstanceOf(IllegalArgumentException.class);
                case BUSY -> assertThat(failure.get()).isInstanceOf(LockNotAcquiredException.class);
                case UNREACHABLE, UNREACHABLE_AND_NOT_SKIPPED ->
                    assertThat(failure.get()).isInstanceOf(LockStoreException.class);
                case THROWS, THROWS_WITH_FALLBACK, FAILS_LATER, FAILS_LATER_WITH_FALLBACK ->
                    assertThat(failure.get()).isSameAs(own).hasNoSuppressedExceptions();
                case CANCELLED_WHILE_WAITING -> cancelled(failure.get(), LockInterruptedException.class);
                case CANCELLED_IN_THE_BODY -> {
                    cancelled(failure.get(), InterruptedException.class);
                    bodyIsCancelled();
                }
                case TIMES_OUT -> {
                    assertThat(failure.get()).isInstanceOfAny(TimeoutException.class, CancellationException.class);
                    if (play.getRunning().isDone()) {
                        bodyIsCancelled();
                    }
                }
                case LOSS_FAILS -> assertThat(failure.get()).isInstanceOf(LockLostException.class);
                case LOSS_INTERRUPTS -> {
                    assertThat(failure.get()).isInstanceOf(LockLostException.class);
                    bodyIsCancelled();
                }
                case LOSS_AND_FAILURE -> {
                    assertThat(failure.get()).isSameAs(own);
                    assertThat(own.getSuppressed()).singleElement().isInstanceOf(LockLostException.class);
                }
            }
        }

        private void returned(AtomicReference<Object> value, AtomicReference<Throwable> failure, Object expected) {
            assertThat(failure.get()).isNull();
            assertThat(value.get()).isEqualTo(kind == Kind.VOID ? null : expected);
        }

        private void cancelled(Throwable failure, Class<? extends Throwable> interruption) {
            assertThat(failure).isInstanceOf(kind.isBlocking() ? interruption : CancellationException.class);
        }

        private void bodyIsCancelled() {
            if (!kind.isBlocking()) {
                Awaitility.await().atMost(PATIENCE).until(() -> play.getLater().isCompletedExceptionally());
            }
        }

        /** At once, except where the caller has gone before the release. */
        private void verifyFree() {
            if (scenario.isEndedByTheCaller()) {
                Awaitility.await().atMost(PATIENCE).until(() -> isFree(Duration.ZERO));
            } else {
                assertThat(isFree(Duration.ZERO)).isTrue();
            }
        }

        private boolean isFree(Duration wait) {
            return elsewhere
                    .tryAcquire(LockRequest.of(lock).withWaitTime(wait))
                    .map(lease -> {
                        lease.close();
                        return lease;
                    })
                    .isPresent();
        }
    }
}
