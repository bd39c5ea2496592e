/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What operators see of locks, what they can do by force, and the minimum hold. */
public abstract class InspectionContract extends StoreContract {

    private static final Duration LONG = Duration.ofSeconds(20);

    @Test
    void aHolderAndItsWaitersAreShownInOrder() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockTemplate three = instance();
        assertThat(one.inspector().status(name)).isEmpty();
        List<CompletableFuture<LockLease>> waiting = new ArrayList<>();
        try (LockLease lease = one.acquire(LockRequest.of(name).withMode(LockMode.FAIR))) {
            for (LockTemplate template : List.of(two, three, two)) {
                waiting.add(template.acquireAsync(
                        LockRequest.of(name).withMode(LockMode.FAIR).withWaitTime(LONG)));
                Awaitility.await()
                        .atMost(SOON)
                        .until(() -> status(one).waiters().size() == waiting.size());
            }
            LockStatus status = status(three);
            assertThat(status.name()).isEqualTo(name);
            assertThat(status.mode()).isEqualTo(LockMode.FAIR);
            assertThat(status.fencingToken()).isEqualTo(lease.fencingToken());
            assertThat(status.remaining()).isBetween(Duration.ofMillis(1), LEASE.plusMillis(200));
            LockInstance holder = status.holders().get(0);
            assertThat(holder.application()).isEqualTo("shop");
            assertThat(holder.pid()).isEqualTo(ProcessHandle.current().pid());
            assertThat(holder.host()).isNotEmpty();
            assertThat(holder.since()).isBetween(Instant.now().minusSeconds(600), Instant.now());
            List<String> order = status.waiters().stream().map(LockInstance::id).toList();
            assertThat(order).hasSize(3).doesNotContain(holder.id());
            assertThat(order.get(0)).isEqualTo(order.get(2)).isNotEqualTo(order.get(1));
            assertThat(one.inspector().heldHere()).singleElement().satisfies(held -> {
                assertThat(held.name()).isEqualTo(name);
                assertThat(held.holders()).containsExactly(holder);
                assertThat(held.fencingToken()).isEqualTo(lease.fencingToken());
            });
            assertThat(two.inspector().heldHere()).isEmpty();
        }
        for (CompletableFuture<LockLease> future : waiting) {
            future.cancel(true);
            // One that has the lock by now cannot be cancelled.
            future.thenAccept(LockLease::close);
        }
        Awaitility.await().atMost(SOON).until(() -> one.inspector().status(name).isEmpty());
    }

    @Test
    void thisInstanceSaysSinceWhenAndForWhatItHoldsAndWaits() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        Instant before = Instant.now().truncatedTo(ChronoUnit.MILLIS);
        LockRequest request = LockRequest.of(name).withWaitTime(LONG).withLabel("Shop.sell");
        try (LockLease lease = one.acquire(request)) {
            CompletableFuture<LockLease> waiting = two.acquireAsync(request.withLabel("Shop.restock"));
            Awaitility.await().atMost(SOON).until(() -> status(two).waiters().size() == 1);

            for (LockStatus status :
                    List.of(status(one), one.inspector().heldHere().get(0))) {
                assertThat(status.holders()).singleElement().satisfies(holder -> {
                    assertThat(holder.heldSince()).isBetween(before, Instant.now());
                    assertThat(holder.waitingSince()).isNull();
                    assertThat(holder.label()).isEqualTo("Shop.sell");
                    assertThat(holder.thread()).isEqualTo(Thread.currentThread().getName());
                    assertThat(holder.fencingToken()).isEqualTo(lease.fencingToken());
                });
            }
            assertThat(status(two).waiters()).singleElement().satisfies(waiter -> {
                assertThat(waiter.waitingSince()).isBetween(before, Instant.now());
                assertThat(waiter.heldSince()).isNull();
                assertThat(waiter.label()).isEqualTo("Shop.restock");
                assertThat(waiter.thread()).isEqualTo(Thread.currentThread().getName());
            });
            assertThat(two.inspector().waitingHere()).singleElement().satisfies(wait -> {
                assertThat(wait.waitingSince()).isBetween(before, Instant.now());
                assertThat(wait.thread()).isEqualTo(Thread.currentThread().getName());
            });
            // What another instance holds and waits for has no label here.
            LockInstance holder = status(two).holders().get(0);
            assertThat(holder.label()).isNull();
            assertThat(holder.thread()).isNull();
            assertThat(holder.fencingToken()).isNull();
            assertThat(holder).isEqualTo(one.inspector().here().orElseThrow());
            assertThat(status(one).waiters()).singleElement().satisfies(waiter -> assertThat(waiter.label())
                    .isNull());
            waiting.cancel(true);
        }
        Awaitility.await().atMost(SOON).until(() -> one.inspector().status(name).isEmpty());
    }

    private LockStatus status(LockTemplate template) {
        return template.inspector().status(name).orElseThrow();
    }

    @Test
    void severalReadersAreAllShown() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockRequest reading = LockRequest.of(name).withMode(LockMode.READ);
        try (LockLease first = one.acquire(reading);
                LockLease second = two.acquire(reading)) {
            assertThat(first.isHeld() && second.isHeld()).isTrue();
            assertThat(status(one).mode()).isEqualTo(LockMode.READ);
            assertThat(status(one).holders())
                    .extracting(LockInstance::id)
                    .doesNotHaveDuplicates()
                    .hasSize(2);
        }
    }

    @Test
    void locksAreFoundByPatternUpToALimit() {
        LockTemplate one = instance();
        List<LockLease> leases = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            leases.add(one.acquire(name + " order:" + i));
        }
        leases.add(one.acquire(name + " stock [1]"));
        String quoted = name.replaceAll("[*?\\[\\]\\\\]", "\\\\$0");
        assertThat(one.inspector().find(quoted + " order:*", 100))
                .hasSize(12)
                .allSatisfy(status -> assertThat(status.holders()).hasSize(1));
        assertThat(one.inspector().find(quoted + " order:[0-4]", 100)).hasSize(5);
        assertThat(one.inspector().find(quoted + " order:?", 100)).hasSize(10);
        assertThat(one.inspector().find(quoted + " order:1?", 100)).hasSize(2);
        assertThat(one.inspector().find(quoted + " stock \\[1\\]", 100)).hasSize(1);
        assertThat(one.inspector().find(quoted + " order:*", 3)).hasSize(3);
        leases.forEach(LockLease::close);
        assertThat(one.inspector().find(quoted + "*", 100)).isEmpty();
        assertThatThrownBy(() -> one.inspector().find("*", 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @EnumSource
    void aForcedReleaseIsHeardBeforeARenewalAndServesTheNext(LockMode mode) throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockLease lease = one.acquire(LockRequest.of(name).withMode(mode));
        List<LockLostException> told = new CopyOnWriteArrayList<>();
        lease.onLost(told::add);
        CompletableFuture<LockLease> next =
                two.acquireAsync(LockRequest.of(name).withMode(LockMode.WRITE).withWaitTime(LONG));
        Awaitility.await().atMost(SOON).until(() -> status(one).waiters().size() == 1);

        assertThat(two.inspector().forceRelease(name)).isTrue();

        Awaitility.await().atMost(LEASE.dividedBy(4)).until(() -> !lease.isHeld() && told.size() == 1);
        LockLease taken = next.get(SOON.toMillis(), TimeUnit.MILLISECONDS);
        assertThat(taken.fencingToken()).isGreaterThan(0);
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(taken.verify()).isTrue();
        taken.close();
        assertThat(two.inspector().forceRelease(name)).isFalse();
        // Listeners hear of a loss after its callbacks.
        Awaitility.await().untilAsserted(() -> assertThat(events.events(LockListener.Lost.class))
                .hasSize(1));
        assertThat(one.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aForcedReleaseRevokesAllReadersAndAllLocalCallers() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockRequest reading = LockRequest.of(name).withMode(LockMode.READ);
        List<LockLease> readers = List.of(one.acquire(reading), one.acquire(reading), two.acquire(reading));
        assertThat(one.inspector().forceRelease(name)).isTrue();
        Awaitility.await().atMost(SOON).until(() -> readers.stream().noneMatch(LockLease::isHeld));
        assertThat(one.tryAcquire(LockRequest.of(name).withMode(LockMode.WRITE)))
                .hasValueSatisfying(LockLease::close);
    }

    @Test
    void whoHoldsTheLockIsNamedToThoseWhoDoNotGetIt() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        try (LockLease lease = one.acquire(name)) {
            String holder = status(two).holders().get(0).id();
            for (Duration wait : List.of(Duration.ZERO, BRIEFLY)) {
                assertThatThrownBy(() -> two.acquire(LockRequest.of(name).withWaitTime(wait)))
                        .isInstanceOfSatisfying(LockNotAcquiredException.class, refused -> {
                            LockInstance named = refused.holder().orElseThrow();
                            assertThat(named.id()).isEqualTo(holder);
                            assertThat(named.application()).isEqualTo("shop");
                        })
                        .hasMessageContaining("shop");
            }
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aLockStaysTakenForItsMinimumTime(LockMode mode) throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        Duration minimum = Duration.ofMillis(700);
        long begun = System.nanoTime();
        LockLease brief = one.acquire(LockRequest.of(name).withMode(mode).withMinHoldTime(minimum));
        CompletableFuture<LockLease> next =
                two.acquireAsync(LockRequest.of(name).withWaitTime(LONG));
        assertThat(brief.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(brief.isHeld()).isFalse();
        Optional<LockLease> early = one.tryAcquire(name);
        early.ifPresent(LockLease::close);
        boolean free = early.isPresent() || !two.lock(name).isLocked();
        assertThat(free && since(begun).compareTo(minimum) < 0).isFalse();
        LockLease later = next.get(minimum.plus(SOON).toMillis(), TimeUnit.MILLISECONDS);
        assertThat(since(begun)).isGreaterThanOrEqualTo(minimum);
        assertThat(later.fencingToken()).isGreaterThanOrEqualTo(brief.fencingToken());
        later.close();
        assertThat(one.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    private static Duration since(long begun) {
        return Duration.ofNanos(System.nanoTime() - begun);
    }

    @Test
    void aMinimumHoldIsRevokedToo() {
        LockTemplate one = instance();
        one.run(LockRequest.of(name).withMinHoldTime(LONG), lease -> {});
        assertThat(one.tryAcquire(name)).isEmpty();
        assertThat(one.inspector().forceRelease(name)).isTrue();
        assertThat(one.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aMinimumHoldThatIsOverCostsNothing() {
        LockTemplate one = instance();
        LockLease lease = one.acquire(LockRequest.of(name).withMinHoldTime(Duration.ofMillis(100)));
        Awaitility.await().pollDelay(Duration.ofMillis(120)).until(lease::isHeld);
        lease.close();
        assertThat(one.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }
}
