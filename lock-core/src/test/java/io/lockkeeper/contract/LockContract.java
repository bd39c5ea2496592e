/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockContext;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** What every store must do, seen through the template. Each template that a test makes is an instance of its own. */
public abstract class LockContract extends StoreContract {

    private static final Set<Thread.State> WAITING = Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

    /** Returns the modes of one holder that the store knows, at least {@link LockMode#EXCLUSIVE}. */
    protected List<LockMode> modes() {
        return List.of(LockMode.EXCLUSIVE, LockMode.FAIR);
    }

    private LockRequest request(LockMode mode) {
        return LockRequest.of(name).withMode(mode);
    }

    @Test
    void aHeldLockIsRefusedToEverybodyElse() {
        modes().forEach(this::isRefusedToEverybodyElse);
    }

    private void isRefusedToEverybodyElse(LockMode mode) {
        LockTemplate first = instance();
        LockTemplate second = instance();
        try (LockLease lease = first.acquire(request(mode))) {
            assertThat(lease.isHeld()).isTrue();
            assertThat(lease.name()).isEqualTo(name);
            assertThat(lease.names()).containsExactly(name);
            assertThat(lease.mode()).isEqualTo(mode);
            assertThat(lease.verify()).isTrue();
            assertThat(lease.remaining()).isBetween(LEASE.dividedBy(2), LEASE);
            for (LockMode other : modes()) {
                assertThat(first.tryAcquire(request(other))).isEmpty();
                assertThat(second.tryAcquire(request(other))).isEmpty();
            }
            assertThat(second.lock(name).isLocked()).isTrue();
        }
        assertThat(second.lock(name).isLocked()).isFalse();
        assertThat(second.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void releaseIsReportedOnceAndNeverThrows() {
        LockLease lease = instance().acquire(name);
        assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        lease.close();
        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThatThrownBy(lease::ensureHeld).isInstanceOf(LockLostException.class);
        assertThat(events.events(LockListener.Released.class)).hasSize(1);
    }

    @Test
    void anyThreadMayReleaseALease() throws Exception {
        LockTemplate template = instance();
        LockLease lease = template.acquire(name);
        assertThat(CompletableFuture.supplyAsync(lease::release).get(SOON.toSeconds(), TimeUnit.SECONDS))
                .isEqualTo(ReleaseResult.RELEASED);
        assertThat(template.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void tokensRiseFromHolderToHolder() {
        LockTemplate first = instance();
        LockTemplate second = instance();
        long last = 0;
        for (int i = 0; i < 20; i++) {
            LockMode mode = modes().get(i % 3 % modes().size());
            try (LockLease lease = (i % 2 == 0 ? first : second).acquire(request(mode))) {
                assertThat(lease.fencingToken()).isGreaterThan(last);
                last = lease.fencingToken();
            }
        }
    }

    @Test
    void aThreadEntersItsLockAgainWithTheSameToken() throws Exception {
        LockTemplate template = instance();
        template.run(name, outer -> {
            template.run(LockRequest.of(name).withLeaseTime(Duration.ofMillis(100)), inner -> {
                assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
                inner.release();
                assertThat(inner.isHeld()).isFalse();
            });
            assertThat(outer.isHeld()).isTrue();
            DistributedLock lock = template.lock(name);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            lock.lock();
            assertThat(lock.getHoldCount()).isEqualTo(2);
            lock.unlock();
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThatThrownBy(() -> template.acquire(name)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> template.tryAcquire(name)).isInstanceOf(IllegalStateException.class);
            assertThat(LockContext.require().fencingToken()).isEqualTo(outer.fencingToken());
        });
        assertThat(LockContext.current()).isEmpty();
        assertThat(template.lock(name).getHoldCount()).isZero();
        assertThat(template.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void leasesAreNeverReentrant() {
        LockTemplate template = instance();
        try (LockLease lease = template.acquire(name)) {
            assertThat(template.tryAcquire(name)).isEmpty();
            assertThat(template.tryRun(name, never -> {
                        throw new AssertionError("held by a lease");
                    }))
                    .isFalse();
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @Test
    void theBodysOutcomeReachesTheCallerUnchanged() {
        LockTemplate template = instance();
        IOException checked = new IOException("from the body");
        assertThatThrownBy(() -> template.execute(name, lease -> {
                    throw checked;
                }))
                .isSameAs(checked)
                .hasNoSuppressedExceptions();
        LockNotAcquiredException nested = new LockNotAcquiredException(List.of("x"), Duration.ZERO, 1, null);
        assertThatThrownBy(() -> template.tryRun(name, lease -> {
                    throw nested;
                }))
                .isSameAs(nested);
        String value = template.execute(name, lease -> "value");
        assertThat(value).isEqualTo("value");
        assertThat(template.tryAcquire(name)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aWaiterGetsTheLockWhenItIsReleasedElsewhere() throws Exception {
        LockTemplate first = instance();
        LockTemplate second = instance();
        for (LockMode mode : modes()) {
            LockLease held = first.acquire(request(mode));
            CompletableFuture<LockLease> waiting = second.acquireAsync(request(mode));
            assertThatThrownBy(() -> waiting.get(100, TimeUnit.MILLISECONDS))
                    .isInstanceOf(java.util.concurrent.TimeoutException.class);
            held.close();
            waiting.get(SOON.toSeconds(), TimeUnit.SECONDS).close();
        }
    }

    @Test
    void aRequestGivesUpAfterItsWait() {
        LockTemplate template = instance();
        LockTemplate other = instance();
        try (LockLease held = template.acquire(name)) {
            LockRequest request = LockRequest.of(name).withWaitTime(Duration.ofMillis(300));
            assertThatThrownBy(() -> other.acquire(request))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class, failure -> {
                        assertThat(failure.names()).containsExactly(name);
                        assertThat(failure.waited()).isBetween(Duration.ofMillis(300), SOON);
                        assertThat(failure.attempts()).isEqualTo(1);
                    });
            assertThat(other.tryAcquire(request)).isEmpty();
            assertThat(held.isHeld()).isTrue();
        }
        isFreeSoon(template);
        assertThat(events.events(LockListener.NotAcquired.class)).hasSize(2);
    }

    @Test
    void retriesAreCounted() {
        LockTemplate template = instance();
        try (LockLease held = template.acquire(name)) {
            LockRequest request = LockRequest.of(name).withRetries(3, Duration.ofMillis(20));
            assertThatThrownBy(() -> instance().acquire(request))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class, failure -> assertThat(failure.attempts())
                            .isEqualTo(4));
            assertThat(held.isHeld()).isTrue();
        }
    }

    @Test
    void anInterruptedWaiterLeavesAtOnceWithItsFlagSet() throws Exception {
        LockTemplate template = instance();
        LockTemplate other = instance();
        LockLease held = template.acquire(name);
        for (LockTemplate waiting : List.of(template, other)) {
            AtomicReference<Object> outcome = new AtomicReference<>();
            Thread thread = new Thread(() -> {
                try {
                    waiting.acquire(name);
                } catch (LockInterruptedException interrupted) {
                    outcome.set(Thread.currentThread().isInterrupted());
                }
            });
            thread.start();
            Awaitility.await().until(() -> WAITING.contains(thread.getState()));
            thread.interrupt();
            thread.join(SOON.toMillis());
            assertThat(thread.isAlive()).isFalse();
            assertThat(outcome).hasValue(true);
        }
        held.close();
        isFreeSoon(template);
    }

    /** The place of a waiter may leave the queue later than the release comes, and is granted the lock then. */
    private void isFreeSoon(LockTemplate template) {
        assertThat(template.tryAcquire(LockRequest.of(name).withWaitTime(SOON))).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aCancelledFutureGivesUpItsPlace() throws Exception {
        LockTemplate template = instance();
        LockLease held = template.acquire(name);
        CompletableFuture<LockLease> cancelled = instance().acquireAsync(LockRequest.of(name));
        CompletableFuture<LockLease> waiting = instance().acquireAsync(LockRequest.of(name));
        assertThat(cancelled.cancel(true)).isTrue();
        held.close();
        waiting.get(SOON.toSeconds(), TimeUnit.SECONDS).close();
    }

    @Test
    void aFixedLeaseEndsByItselfAndTellsSo() throws Exception {
        LockTemplate template = instance();
        Duration fixed = Duration.ofMillis(400);
        LockLease lease = template.acquire(LockRequest.of(name).withLeaseTime(fixed));
        CompletableFuture<LockLostException> loss = new CompletableFuture<>();
        lease.onLost(loss::complete);
        assertThat(lease.remaining()).isLessThanOrEqualTo(fixed);
        LockLostException lost = loss.get(SOON.toSeconds(), TimeUnit.SECONDS);
        assertThat(lost.name()).isEqualTo(name);
        assertThat(lost.fencingToken()).isEqualTo(lease.fencingToken());
        assertThat(lost.heldFor()).isBetween(fixed.minusMillis(300), fixed.plus(SOON));
        assertThat(lease.isHeld()).isFalse();
        assertThat(lease.extend(Duration.ofSeconds(1))).isFalse();
        instance().acquire(LockRequest.of(name).withWaitTime(SOON)).close();
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
    }

    @Test
    void aRenewedLeaseOutlivesItsLeaseTime() throws Exception {
        LockTemplate template = renewing();
        LockTemplate other = instance();
        try (LockLease lease = template.acquire(name)) {
            CompletableFuture<LockLostException> loss = new CompletableFuture<>();
            lease.onLost(loss::complete);
            assertRenewed(lease, other);
            assertThat(other.tryAcquire(name)).isEmpty();
            assertThat(loss).isNotDone();
        }
        assertThat(events.events(LockListener.Renewed.class)).isNotEmpty();
    }

    @Test
    void aLeaseCanBeGivenAFixedEnd() throws Exception {
        LockLease lease = instance().acquire(name);
        CompletableFuture<LockLostException> loss = new CompletableFuture<>();
        lease.onLost(loss::complete);
        assertThat(lease.extend(Duration.ofMillis(300))).isTrue();
        assertThat(lease.remaining()).isLessThanOrEqualTo(Duration.ofMillis(300));
        loss.get(SOON.toSeconds(), TimeUnit.SECONDS);
        assertThat(lease.isHeld()).isFalse();
    }

    @Test
    void aClosedTemplateRefusesAndCancelsWaits() {
        LockTemplate template = instance();
        LockTemplate other = instance();
        try (LockLease held = other.acquire(name)) {
            CompletableFuture<LockLease> waiting = template.acquireAsync(LockRequest.of(name));
            template.close();
            assertThatThrownBy(() -> waiting.get(SOON.toSeconds(), TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(LockStoreException.class);
            assertThatThrownBy(() -> template.acquire(name)).isInstanceOf(LockStoreException.class);
            assertThat(held.isHeld()).isTrue();
        }
    }

    @Test
    void aLockIsAJavaUtilConcurrentLock() throws Exception {
        LockTemplate template = instance();
        DistributedLock lock = template.lock(name);
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        LockTemplate other = instance();
        DistributedLock elsewhere = modes().contains(LockMode.FAIR) ? other.fairLock(name) : other.lock(name);
        assertThat(elsewhere.tryLock()).isFalse();
        assertThat(elsewhere.tryLock(BRIEFLY)).isFalse();
        lock.unlock();
        assertThat(elsewhere.tryLock(BRIEFLY)).isFalse();
        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(elsewhere.tryLock(SOON)).isTrue();
        assertThat(elsewhere.currentLease())
                .hasValueSatisfying(lease -> assertThat(lease.isHeld()).isTrue());
        elsewhere.unlock();
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
        Thread.currentThread().interrupt();
        lock.lock();
        assertThat(Thread.interrupted()).isTrue();
        lock.unlock();
    }
}
