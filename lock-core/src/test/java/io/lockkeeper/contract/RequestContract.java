/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What a request may ask for beyond a lock: a lease that ends by itself, and attempts instead of a place in the queue.
 */
@Timeout(120)
public abstract class RequestContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    private static final Duration LEASE = Duration.ofSeconds(30);

    /** The grant time is half of it, and shorter than the fixed lease. */
    private static final Duration BRIEF = Duration.ofMillis(1_500);

    private static final Duration FIXED = Duration.ofSeconds(1);

    /** How late a slow machine may notice an end. */
    private static final Duration TOLERANCE = Duration.ofSeconds(10);

    private final RecordingListener events = new RecordingListener();
    private final List<LockTemplate> templates = new ArrayList<>();
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
    }

    /** Returns a new store over the same locks, for a lease that is too short for a patient one. */
    protected LockStore storeOfBriefLeases() {
        return store();
    }

    private LockTemplate instance() {
        return instance(store(), LEASE);
    }

    private LockTemplate instance(LockStore store, Duration lease) {
        LockTemplate template = LockTemplate.builder(fencing.watch(store))
                .leaseTime(lease)
                .shutdownWait(Duration.ZERO)
                .listener(events)
                .build();
        templates.add(template);
        return template;
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR"})
    void aFixedLeaseEndsInTimeWhileItsBodyRunsOn(LockMode mode) throws Exception {
        LockTemplate template = instance();
        LockTemplate other = instance();
        template.run(request.withMode(mode).withLeaseTime(FIXED), lease -> {
            long begin = System.nanoTime();
            assertThat(lease.remaining()).isLessThanOrEqualTo(FIXED);
            CompletableFuture<LockLostException> told = new CompletableFuture<>();
            lease.onLost(told::complete);
            CompletableFuture<LockLease> local = template.acquireAsync(request);
            CompletableFuture<LockLease> remote = other.acquireAsync(request);

            assertThat(told.get(20, TimeUnit.SECONDS).heldFor()).isBetween(FIXED.dividedBy(2), FIXED.plus(TOLERANCE));
            assertThat(lease.isHeld()).isFalse();
            List<Long> tokens = new ArrayList<>();
            for (CompletableFuture<?> next : List.of(
                    local.thenAccept(held -> receive(held, tokens)),
                    remote.thenAccept(held -> receive(held, tokens)))) {
                next.get(20, TimeUnit.SECONDS);
            }
            assertThat(tokens).hasSize(2).doesNotHaveDuplicates().allMatch(token -> token > lease.fencingToken());
            assertThat(Duration.ofNanos(System.nanoTime() - begin))
                    .isBetween(FIXED.dividedBy(2), FIXED.plus(TOLERANCE));
            assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        });
        assertThat(events.events(LockListener.Renewed.class)).isEmpty();
        // Listeners hear of a loss after its callbacks.
        Awaitility.await().untilAsserted(() -> assertThat(events.events(LockListener.Lost.class))
                .hasSize(1));
        // Sooner than a grant to somebody who is gone would end
        assertThat(other.tryAcquire(request.withWaitTime(Duration.ofSeconds(2))))
                .hasValueSatisfying(LockLease::close);
    }

    /** The next holder has a time of its own, and not what is left of the last one's. */
    private static void receive(LockLease lease, List<Long> tokens) {
        assertThat(lease.remaining()).isGreaterThan(Duration.ofMillis(300));
        synchronized (tokens) {
            tokens.add(lease.fencingToken());
        }
        lease.close();
    }

    @Test
    void aFixedLeaseThatWasWaitedForLastsItsWholeTimeAndNoLonger() throws Exception {
        LockTemplate first = instance(storeOfBriefLeases(), BRIEF);
        LockTemplate second = instance(storeOfBriefLeases(), BRIEF);
        for (LockTemplate waiting : List.of(first, second)) {
            LockLease held = first.acquire(request);
            CompletableFuture<LockLease> next = waiting.acquireAsync(request.withLeaseTime(FIXED));
            // Its lease counts from the moment at which it asks: a first question that is late would get the lock
            // itself.
            Awaitility.await().until(() -> waiting.inspector().status(held.name()).stream()
                    .anyMatch(status -> !status.waiters().isEmpty()));
            long begin = System.nanoTime();
            held.close();
            LockLease lease = next.get(20, TimeUnit.SECONDS);
            Duration spent = Duration.ofNanos(System.nanoTime() - begin).plusMillis(50);
            assertThat(lease.remaining()).isLessThanOrEqualTo(FIXED);
            CompletableFuture<LockLostException> told = new CompletableFuture<>();
            lease.onLost(told::complete);
            LockLostException lost = told.get(20, TimeUnit.SECONDS);
            assertThat(lost.heldFor()).isBetween(FIXED.minus(spent), FIXED.plus(TOLERANCE));
            first.acquire(request.withWaitTime(TOLERANCE)).close();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR"})
    void aRequestWithRetriesGetsTheLockBetweenTwoAttemptsAndNeverQueues(LockMode mode) throws Exception {
        LockTemplate holder = instance();
        LockTemplate retrying = instance();
        LockLease held = holder.acquire(request);
        CompletableFuture<LockLease> future = retrying.acquireAsync(
                request.withMode(mode).withWaitTime(Duration.ZERO).withRetries(100, Duration.ofSeconds(1)));
        assertThat(future.copy()
                        .completeOnTimeout(null, 100, TimeUnit.MILLISECONDS)
                        .get())
                .isNull();
        assertThat(holder.inspector().status(request.names().get(0)))
                .hasValueSatisfying(status -> assertThat(status.waiters()).isEmpty());
        held.close();
        LockLease lease = future.get(20, TimeUnit.SECONDS);
        assertThat(lease.verify()).isTrue();
        lease.close();
        assertThat(events.events(LockListener.Acquired.class))
                .filteredOn(event -> event.request().retryCount() > 0)
                .singleElement()
                .satisfies(event -> assertThat(event.attempts()).isBetween(2, 20));
    }

    @Test
    void anInterruptEndsTheTimeBetweenTwoAttempts() throws Exception {
        LockTemplate holder = instance();
        LockTemplate retrying = instance();
        try (LockLease held = holder.acquire(request)) {
            LockViews.Running<Boolean> caller = LockViews.start(() -> {
                assertThatThrownBy(() -> retrying.acquire(request.withRetries(3, Duration.ofMinutes(1))))
                        .isInstanceOf(LockInterruptedException.class);
                return Thread.currentThread().isInterrupted();
            });
            Awaitility.await().until(() -> retrying.toString().contains("names=1"));
            caller.waiting();
            caller.thread().interrupt();
            assertThat(caller.outcome().get(20, TimeUnit.SECONDS)).isTrue();
            assertThat(retrying.toString()).contains("names=0");
            assertThat(held.isHeld()).isTrue();
        }
    }

    /** Longer than clocks and stores can count. */
    @Test
    void aMinimumHoldWithoutEndOutlastsTheRelease() {
        LockTemplate template = instance();
        LockTemplate other = instance();
        for (Duration endless : List.of(Duration.ofSeconds(Long.MAX_VALUE), Duration.ofMillis(Long.MAX_VALUE))) {
            LockLease lease = template.acquire(request.withMinHoldTime(endless));
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
            assertThat(other.tryAcquire(request)).isEmpty();
            assertThat(template.inspector().forceRelease(request.names().get(0)))
                    .isTrue();
            assertThat(other.tryAcquire(request)).hasValueSatisfying(LockLease::close);
        }
    }
}
