/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a future of a lock does when its caller ends it, where it is completed, and that nothing is left behind. */
@Timeout(120)
public abstract class AsyncContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    private static final Duration LEASE = Duration.ofSeconds(30);

    /** Less than a grant to somebody who is gone would cost. */
    private static final Duration AT_ONCE = LEASE.dividedBy(3);

    private static final int ROUNDS = 100;

    private final List<LockTemplate> templates = new ArrayList<>();
    private final ExecutorService executor = Executors.newFixedThreadPool(2, task -> new Thread(task, "of the user"));
    private final RecordingListener events = new RecordingListener();
    private LockRequest request = LockRequest.of("none");

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    @BeforeEach
    void nameTheLock(TestInfo test) {
        request = LockRequest.of(test.getDisplayName() + " {" + System.nanoTime() + "}");
    }

    @AfterEach
    void close() {
        templates.forEach(LockTemplate::close);
        executor.shutdownNow();
    }

    private LockTemplate instance() {
        return instance(null);
    }

    private LockTemplate instance(@Nullable Executor callbacks) {
        LockTemplate.Builder builder = LockTemplate.builder(fencing.watch(store()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .listener(events);
        LockTemplate template = (callbacks == null ? builder : builder.executor(callbacks)).build();
        templates.add(template);
        return template;
    }

    /** How a caller ends a future before the lock is there. */
    private enum Ending {
        CANCEL,
        COMPLETE,
        FAIL,
        TIMEOUT;

        void end(CompletableFuture<?> future) {
            switch (this) {
                case CANCEL -> future.cancel(true);
                case COMPLETE -> future.complete(null);
                case FAIL -> future.completeExceptionally(new IllegalStateException("from the caller"));
                case TIMEOUT -> future.orTimeout(1, TimeUnit.MILLISECONDS);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCallerThatEndsItsFutureGivesUpThePlace(Ending ending) throws Exception {
        LockTemplate holder = instance();
        LockTemplate waiting = instance();
        for (LockMode mode : List.of(LockMode.EXCLUSIVE, LockMode.FAIR)) {
            LockRequest wanted = request.withMode(mode);
            LockLease held = holder.acquire(request);
            AtomicBoolean began = new AtomicBoolean();
            CompletableFuture<LockLease> lease = waiting.acquireAsync(wanted);
            CompletableFuture<Void> work = waiting.executeAsync(wanted, never -> {
                began.set(true);
                return CompletableFuture.completedFuture(null);
            });
            CompletableFuture<LockLease> retrying = waiting.acquireAsync(wanted.withRetries(1_000, LEASE));
            for (CompletableFuture<?> future : List.of(lease, work, retrying)) {
                ending.end(future);
                assertThat(future.handle((value, failure) -> "ended").get(20, TimeUnit.SECONDS))
                        .isEqualTo("ended");
            }
            CompletableFuture<LockLease> next = instance().acquireAsync(wanted);
            held.close();
            next.get(AT_ONCE.toMillis(), TimeUnit.MILLISECONDS).close();
            assertThat(began).isFalse();
            Awaitility.await()
                    .untilAsserted(() -> assertThat(waiting.toString()).contains("held=0", "names=0"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aLeaseThatComesAsItsFutureEndsIsGivenBack(Ending ending) throws Exception {
        LockTemplate holder = instance();
        LockTemplate waiting = instance();
        for (int round = 0; round < ROUNDS; round++) {
            LockRequest wanted = request.withMode(round % 2 == 0 ? LockMode.EXCLUSIVE : LockMode.FAIR);
            LockLease held = holder.acquire(request);
            CompletableFuture<LockLease> future = waiting.acquireAsync(wanted);
            CompletableFuture<?> received = future.thenAccept(lease -> {
                if (lease != null) {
                    lease.close();
                }
            });
            CompletableFuture<Void> releasing = CompletableFuture.runAsync(held::close);
            for (int i = ThreadLocalRandom.current().nextInt(20_000); i > 0; i--) {
                Thread.onSpinWait();
            }
            ending.end(future);
            releasing.get(20, TimeUnit.SECONDS);
            received.handle((done, failure) -> true).get(20, TimeUnit.SECONDS);
            assertThat(holder.tryAcquire(request.withWaitTime(AT_ONCE))).hasValueSatisfying(LockLease::close);
        }
    }

    @Test
    void asynchronousWorkHoldsTheLockUntilItsStageIsCompleted() throws Exception {
        LockTemplate template = instance();
        LockTemplate other = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<LockLease> begun = new CompletableFuture<>();
        CompletableFuture<String> result = template.executeAsync(request, lease -> {
            begun.complete(lease);
            return stage;
        });
        LockLease lease = begun.get(20, TimeUnit.SECONDS);
        assertThat(other.tryAcquire(request)).isEmpty();
        assertThat(result).isNotDone();
        stage.complete("value");
        assertThat(result.get(20, TimeUnit.SECONDS)).isEqualTo("value");
        assertThat(lease.isHeld()).isFalse();
        assertThat(other.tryAcquire(request)).hasValueSatisfying(LockLease::close);

        IllegalStateException failure = new IllegalStateException("from the work");
        assertThatThrownBy(() -> template.executeAsync(request, none -> CompletableFuture.failedFuture(failure))
                        .get(20, TimeUnit.SECONDS))
                .hasCause(failure);
        assertThatThrownBy(() -> template.executeAsync(request, none -> {
                            throw failure;
                        })
                        .get(20, TimeUnit.SECONDS))
                .hasCause(failure);
        assertThat(other.tryAcquire(request)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void workThatHasBegunKeepsTheLockWhenItsCallerCancels() throws Exception {
        LockTemplate template = instance();
        LockTemplate other = instance();
        CompletableFuture<String> stage = new CompletableFuture<>();
        CompletableFuture<LockLease> begun = new CompletableFuture<>();
        CompletableFuture<String> result = template.executeAsync(request, lease -> {
            begun.complete(lease);
            return stage;
        });
        LockLease lease = begun.get(20, TimeUnit.SECONDS);
        assertThat(result.cancel(true)).isTrue();
        assertThat(lease.isHeld()).isTrue();
        assertThat(other.tryAcquire(request)).isEmpty();
        stage.complete("value");
        assertThat(other.tryAcquire(request.withWaitTime(AT_ONCE))).hasValueSatisfying(LockLease::close);
        assertThatThrownBy(result::join).isInstanceOf(CancellationException.class);
    }

    @Test
    void completionsRunOnTheExecutor() throws Exception {
        LockTemplate holder = instance();
        LockTemplate waiting = instance(executor);
        CountDownLatch attached = new CountDownLatch(1);
        executor.execute(() -> awaitQuietly(attached));
        executor.execute(() -> awaitQuietly(attached));
        CompletableFuture<LockLease> lease = waiting.acquireAsync(request);
        CompletableFuture<String> acquired = lease.thenApply(AsyncContract::thread);
        CompletableFuture<String> released = new CompletableFuture<>();
        lease.thenAccept(LockLease::close).thenAccept(done -> released.complete(thread(null)));
        attached.countDown();
        assertThat(acquired.get(20, TimeUnit.SECONDS)).isEqualTo("of the user");
        assertThat(released.get(20, TimeUnit.SECONDS)).isEqualTo("of the user");

        CompletableFuture<Void> stage = new CompletableFuture<>();
        CompletableFuture<String> begun = new CompletableFuture<>();
        CompletableFuture<String> ended = waiting.executeAsync(request, granted -> {
                    begun.complete(thread(granted));
                    return stage;
                })
                .thenApply(AsyncContract::thread);
        assertThat(begun.get(20, TimeUnit.SECONDS)).isEqualTo("of the user");
        CompletableFuture.runAsync(() -> stage.complete(null));
        assertThat(ended.get(20, TimeUnit.SECONDS)).isEqualTo("of the user");

        try (LockLease held = holder.acquire(request)) {
            CompletableFuture<String> refused = waiting.acquireAsync(request.withWaitTime(Duration.ofMillis(500)))
                    .handle((none, failure) -> {
                        assertThat(failure).isInstanceOf(LockNotAcquiredException.class);
                        return thread(failure);
                    });
            assertThat(refused.get(20, TimeUnit.SECONDS)).isEqualTo("of the user");
            assertThat(held.isHeld()).isTrue();
        }
    }

    private static String thread(@Nullable Object ignored) {
        return Thread.currentThread().getName();
    }

    @Test
    void anExecutorThatRefusesForgetsNobody() throws Exception {
        LockTemplate template = instance(task -> {
            throw new RejectedExecutionException("full");
        });
        LockLease lease = template.acquireAsync(request).get(20, TimeUnit.SECONDS);
        CompletableFuture<Object> told = new CompletableFuture<>();
        lease.onLost(told::complete);
        assertThat(lease.extend(Duration.ofMillis(500))).isTrue();
        told.get(20, TimeUnit.SECONDS);
        lease.close();
    }

    @Test
    void aLossIsToldWhileAllCallbacksOfOthersBlock() throws Exception {
        LockTemplate template = instance();
        LockLease lease = template.acquire(request);
        assertThat(lease.extend(Duration.ofMillis(500))).isTrue();
        CompletableFuture<Long> told = new CompletableFuture<>();
        lease.onLost(lost -> told.complete(System.nanoTime()));
        long due = System.nanoTime() + lease.remaining().toNanos();
        CountDownLatch open = new CountDownLatch(1);
        ThreadFactory callers = DaemonThreads.factory("callers");
        try {
            for (int i = 0; i < 200; i++) {
                LockRequest own = LockRequest.of(request.names().get(0) + i);
                // On another thread: where the lock is there at once, the body may run on that of the call.
                callers.newThread(() -> template.executeAsync(own, blocked -> {
                            awaitQuietly(open);
                            return CompletableFuture.completedFuture(null);
                        }))
                        .start();
            }
            assertThat(Duration.ofNanos(told.get(20, TimeUnit.SECONDS) - due)).isLessThan(Duration.ofSeconds(5));
        } finally {
            open.countDown();
        }
    }

    @Test
    void everyLeaseIsReportedBeforeItsEnd() throws Exception {
        LockTemplate template = instance();
        for (int i = 0; i < 20; i++) {
            template.acquireAsync(request).thenAccept(LockLease::close).get(20, TimeUnit.SECONDS);
        }
        List<String> kinds = events.all().stream()
                .map(event -> event.getClass().getSimpleName())
                .toList();
        assertThat(kinds)
                .isEqualTo(Collections.nCopies(20, List.of("Asked", "Acquired", "Released")).stream()
                        .flatMap(List::stream)
                        .toList());
    }

    @Test
    void closingATemplateReleasesWhatFuturesHold() throws Exception {
        LockTemplate template = instance();
        LockTemplate other = instance();
        List<LockLease> held = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            held.add(template.acquireAsync(LockRequest.of(request.names().get(0) + i))
                    .get(20, TimeUnit.SECONDS));
        }
        template.close();
        assertThat(held).noneMatch(LockLease::isHeld);
        for (LockLease lease : held) {
            assertThat(other.tryAcquire(lease.name())).isPresent();
        }
        assertThatThrownBy(() -> template.acquireAsync(request).get(20, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
