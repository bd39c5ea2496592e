/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Many callers wait for a short time for a lock that another instance holds: the store is well, and they are told so.
 */
@Timeout(60)
public abstract class ShortWaitContract {

    private static final int CALLERS = 50;
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final String NAME = "short wait";

    /** Less than the shortest wait and the time for which an answer is awaited at its end. */
    private static final Duration SILENCE = Duration.ofMillis(50);

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    /** What is asked for. */
    enum Kind {
        EXCLUSIVE,
        FAIR,
        WRITE,
        READ,
        SEVERAL_NAMES,
        FIXED_LEASE;

        private LockRequest request() {
            return switch (this) {
                case SEVERAL_NAMES -> LockRequest.of("before " + NAME, NAME);
                case FIXED_LEASE -> LockRequest.of(NAME).withLeaseTime(Duration.ofSeconds(5));
                default -> LockRequest.of(NAME).withMode(LockMode.valueOf(name()));
            };
        }
    }

    /** How it is asked for; returns whether the lock was acquired. */
    private interface Form {
        boolean acquires(LockTemplate template, LockRequest request) throws InterruptedException;
    }

    private static final List<Form> FORMS = List.of(
            (template, request) -> template.tryRun(request, lease -> {}),
            (template, request) -> template.tryAcquire(request).isPresent(),
            (template, request) -> acquires(() -> template.acquire(request)),
            (template, request) -> acquires(() -> template.execute(request, lease -> true)),
            (template, request) -> acquires(() -> template.acquireAsync(request).join()),
            (template, request) -> acquires(() -> template.executeAsync(request, CompletableFuture::completedFuture)
                    .join()));

    private static boolean acquires(Callable<?> call) {
        try {
            return call.call() != null;
        } catch (LockNotAcquiredException refused) {
            return false;
        } catch (CompletionException failure) {
            if (failure.getCause() instanceof LockNotAcquiredException) {
                return false;
            }
            throw failure;
        } catch (Exception unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    private static LockTemplate instance(LockStore store) {
        return LockTemplate.builder(store)
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @ParameterizedTest
    @EnumSource
    void callersAreRefusedWhoseTimeIsUp(Kind kind) throws Exception {
        for (int millis : new int[] {10, 50, 200, 1_000}) {
            callersAreRefused(kind, millis);
        }
    }

    @ParameterizedTest
    @CsvSource({"10", "50", "200"})
    void fairViewsAreRefusedWhoseTimeIsUp(int millis) throws Exception {
        try (LockTemplate holder = instance(store());
                LockTemplate waiting = instance(store());
                LockLease held = holder.acquire(NAME)) {
            assertThatAllAreRefused(waiting, caller -> waiting.fairLock(NAME).tryLock(millis, TimeUnit.MILLISECONDS));
            assertThat(held.isHeld()).isTrue();
        }
    }

    private void callersAreRefused(Kind kind, int millis) throws Exception {
        LockRequest request = kind.request().withWaitTime(Duration.ofMillis(millis));
        try (LockTemplate holder = instance(store());
                LockTemplate waiting = instance(store());
                LockLease held = holder.acquire(LockRequest.of(NAME).withMode(LockMode.WRITE))) {
            assertThatAllAreRefused(
                    waiting, caller -> FORMS.get(caller % FORMS.size()).acquires(waiting, request));
            assertThat(held.isHeld()).isTrue();
        }
    }

    private interface Call {
        boolean acquires(int caller) throws Exception;
    }

    /**
     * Another caller of the instance gets answers all the time, so nobody may be told that the store is silent. Where
     * that caller has none for a while, the machine has no processor for them.
     */
    private static void assertThatAllAreRefused(LockTemplate waiting, Call call) throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        waiting.run("probe", lease -> {});
        CompletableFuture<Duration> longestSilence = CompletableFuture.supplyAsync(() -> longestSilence(waiting, over));
        Map<String, Integer> outcomes = outcomes(call);
        over.set(true);
        if (longestSilence.get().compareTo(SILENCE) < 0) {
            assertThat(outcomes).isEqualTo(Map.of("false", CALLERS));
        } else {
            assertThat(outcomes.keySet())
                    .allMatch(outcome ->
                            outcome.equals("false") || outcome.contains("the store has not answered within"));
        }
    }

    private static Duration longestSilence(LockTemplate template, AtomicBoolean over) {
        long longest = 0;
        long heard = System.nanoTime();
        while (!over.get()) {
            template.run("probe", lease -> {});
            longest = Math.max(longest, System.nanoTime() - heard);
            heard = System.nanoTime();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
        return Duration.ofNanos(Math.max(longest, System.nanoTime() - heard));
    }

    /** Returns how often what came of calls that began together. */
    private static Map<String, Integer> outcomes(Call call) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(CALLERS);
        try {
            CyclicBarrier together = new CyclicBarrier(CALLERS);
            List<Future<String>> calls = new ArrayList<>();
            for (int i = 0; i < CALLERS; i++) {
                int caller = i;
                calls.add(threads.submit(() -> {
                    together.await();
                    return outcome(call, caller);
                }));
            }
            Map<String, Integer> outcomes = new TreeMap<>();
            for (Future<String> ended : calls) {
                outcomes.merge(ended.get(), 1, Integer::sum);
            }
            return outcomes;
        } finally {
            threads.shutdownNow();
        }
    }

    private static String outcome(Call call, int caller) throws Exception {
        try {
            return Boolean.toString(call.acquires(caller));
        } catch (RuntimeException failure) {
            return String.valueOf(failure);
        }
    }
}
