/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WithoutLockingTest {

    private final LockTemplate template = LockTemplate.withoutLocking();

    @Test
    void everybodyHasTheLockAtOnce() {
        LockLease first = template.acquire("name");
        LockLease second = template.tryAcquire("name").orElseThrow();
        assertThat(first.isHeld()).isTrue();
        assertThat(first.verify()).isTrue();
        assertThat(first.extend(Duration.ofSeconds(1))).isTrue();
        assertThat(second.fencingToken()).isGreaterThan(first.fencingToken());
        assertThat(template.inspector().heldHere()).isEmpty();

        assertThat(first.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(first.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
        assertThat(first.isHeld()).isFalse();
        assertThat(first.remaining()).isZero();
        assertThatExceptionOfType(LockLostException.class).isThrownBy(first::ensureHeld);
        assertThat(second.isHeld()).isTrue();
    }

    @Test
    void theRemainingTimeFitsIntoUnitsAndDates() {
        LockLease lease = template.acquire("name");
        assertThat(lease.remaining().toNanos()).isPositive();
        assertThat(Instant.now().plus(lease.remaining())).isAfter(Instant.now());
    }

    @Test
    void bodiesRunWithALease() {
        long token = template.execute("name", lease -> {
            assertThat(LockContext.require()).isSameAs(lease);
            assertThat(template.tryRun("name", inner -> {})).isTrue();
            return lease.fencingToken();
        });
        assertThat(token).isPositive();
        assertThat(LockContext.current()).isEmpty();
    }

    @Test
    void futuresAreThereAtOnceAndReleasedAtTheEnd() {
        CompletableFuture<String> end = new CompletableFuture<>();
        CompletableFuture<LockLease> seen = new CompletableFuture<>();
        CompletableFuture<String> result = template.executeAsync(LockRequest.of("name"), lease -> {
            seen.complete(lease);
            return end;
        });
        assertThat(seen.join().isHeld()).isTrue();
        end.complete("done");
        assertThat(result).isCompletedWithValue("done");
        assertThat(seen.join().isHeld()).isFalse();
        assertThat(template.acquireAsync(LockRequest.of("name"))).isCompletedWithValueMatching(LockLease::isHeld);
    }

    @Test
    void viewsCountTheLevelsOfTheirThread() throws Exception {
        DistributedLock lock = template.lock("name");
        lock.lock();
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(template.lock("name").getHoldCount()).isEqualTo(2);
        assertThat(lock.currentLease())
                .hasValueSatisfying(lease -> assertThat(lease.isHeld()).isTrue());
        assertThat(CompletableFuture.supplyAsync(() -> lock.isHeldByCurrentThread() || !lock.tryLock()))
                .succeedsWithin(Duration.ofSeconds(20))
                .isEqualTo(false);

        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.getHoldCount()).isZero();
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(lock::unlock);
    }

    @Test
    void aViewOfSeveralNamesIsHeldByItsThread() {
        DistributedLock lock = LockOperations.withoutLocking()
                .lock(LockRequest.of("a", "b").withWaitTime(Duration.ZERO).withMode(LockMode.FAIR));
        assertThat(lock.remaining()).isZero();
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        assertThat(lock.isHeldByThread(Thread.currentThread())).isTrue();
        assertThat(lock.isHeldByThread(new Thread())).isFalse();
        assertThat(lock.remaining()).isPositive();
        lock.unlock();
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(lock::unlock)
                .withMessageContaining("'a', 'b'");
    }

    @Test
    void readersAndWritersAreCountedApart() {
        DistributedReadWriteLock locks = template.readWriteLock("name");
        locks.readLock().lock();
        locks.writeLock().lock();
        assertThat(locks.readLock().getHoldCount()).isEqualTo(1);
        locks.readLock().unlock();
        assertThat(locks.writeLock().isHeldByCurrentThread()).isTrue();
        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(() -> locks.readLock().unlock());
        locks.writeLock().unlock();
    }

    @Test
    void badArgumentsAreRefusedAsEverywhere() {
        assertThatIllegalArgumentException().isThrownBy(() -> template.acquire(" "));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> template.lock("name").lock(Duration.ZERO));
    }

    @Test
    void anInterruptedThreadDoesNotWait() {
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> template.lock("name").lockInterruptibly());
        assertThat(Thread.interrupted()).isFalse();
    }
}
