/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The view of a request: a {@link DistributedLock} of several names, with a mode and times of its own. */
public abstract class RequestedViewContract extends StoreContract {

    private static final Duration FIXED = Duration.ofSeconds(20);

    private LockRequest a() {
        return LockRequest.of(name + " a");
    }

    private LockRequest b() {
        return LockRequest.of(name + " b");
    }

    private LockRequest both() {
        return LockRequest.of(name + " a", name + " b");
    }

    @Test
    void isLockedMeansAnyNameAndIsHeldAll() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        DistributedLock both = one.lock(both());
        both.lock();
        assertThat(both.getHoldCount()).isEqualTo(1);
        assertThat(one.lock(a()).isHeldByCurrentThread()).isTrue();
        assertThat(two.lock(both()).isLocked()).isTrue();
        assertThat(two.lock(both()).tryLock()).isFalse();
        both.unlock();
        assertThat(both.isLocked()).isFalse();

        DistributedLock part = two.lock(b());
        part.lock();
        for (DistributedLock seen : new DistributedLock[] {both, two.lock(both())}) {
            assertThat(seen.isLocked()).isTrue();
            assertThat(seen.isHeldByCurrentThread()).isFalse();
            assertThat(seen.isHeldByThread(Thread.currentThread())).isFalse();
            assertThat(seen.getHoldCount()).isZero();
            assertThat(seen.remaining()).isZero();
            assertThat(seen.currentLease()).isEmpty();
        }
        assertThat(both.tryLock()).isFalse();
        assertThat(one.lock(a()).isLocked()).isFalse();
        part.unlock();
    }

    @Test
    void allNamesAreHeldInWhicheverWay() {
        LockTemplate one = instance();
        DistributedLock both = one.lock(both());
        one.run(
                a(),
                first -> one.run(b().withLeaseTime(FIXED), second -> {
                    assertThat(both.isHeldByCurrentThread()).isTrue();
                    assertThat(both.getHoldCount()).isEqualTo(1);
                    assertThat(both.remaining()).isBetween(FIXED.dividedBy(2), FIXED);
                    LockLease lease = both.currentLease().orElseThrow();
                    assertThat(lease.names()).isEqualTo(both().names());
                    assertThat(lease.fencingToken(second.name())).isEqualTo(second.fencingToken());
                    assertThatExceptionOfType(IllegalMonitorStateException.class)
                            .isThrownBy(both::unlock);
                }));
        assertThat(both.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void whatIsHeldAlreadyIsEnteredAgain() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        DistributedLock part = one.lock(a());
        DistributedLock both = one.lock(both());
        part.lock();
        both.lock();
        assertThat(both.tryLock()).isTrue();
        assertThat(both.getHoldCount()).isEqualTo(2);
        assertThat(part.getHoldCount()).isEqualTo(3);
        part.unlock();
        both.unlock();
        assertThat(both.isHeldByCurrentThread()).isTrue();
        assertThat(both.remaining()).isGreaterThan(SOON);
        assertThat(two.tryAcquire(a())).isEmpty();
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(part::unlock);
        one.lock(both().withMode(LockMode.FAIR)).unlock();
        assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(both::unlock);
        assertThat(both.isLocked()).isFalse();
    }

    @Test
    void eachNameIsCountedByItself() {
        LockTemplate one = instance();
        DistributedLock both = one.lock(both());
        both.lock();
        one.run(b(), lease -> {
            assertThat(both.getHoldCount()).isOne();
            assertThat(one.lock(a()).getHoldCount()).isOne();
            assertThat(one.lock(b()).getHoldCount()).isEqualTo(2);
        });
        both.unlock();
        assertThat(both.getHoldCount()).isZero();
    }

    @Test
    void aNameThatIsNotHadLeavesTheOthersAsTheyWere() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        DistributedLock part = one.lock(a());
        part.lock();
        two.run(b(), lease -> {
            assertThat(one.lock(both()).tryLock()).isFalse();
            assertThat(part.getHoldCount()).isEqualTo(1);
        });
        part.unlock();
        assertThat(part.isLocked()).isFalse();
    }

    @Test
    void theFirstLossFreesWhatWasTakenWithIt() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        DistributedLock part = one.lock(a());
        DistributedLock both = one.lock(both());
        part.lock();
        both.lock();

        assertThat(two.inspector().forceRelease(a().names().get(0))).isTrue();

        Awaitility.await().atMost(SOON).until(() -> !both.isHeldByCurrentThread());
        Awaitility.await().atMost(SOON).until(() -> !two.lock(both()).isLocked());
        both.unlock();
        part.unlock();
        assertThat(both.tryLock()).isTrue();
        both.unlock();
    }

    @Test
    void lockWaitsWithoutLimitAndTryLockNotAtAll() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockRequest impatient = a().withWaitTime(Duration.ofMillis(10)).withRetries(1, Duration.ofMillis(1));
        LockRequest patient = a().withWaitTime(Duration.ofMinutes(10)).withRetries(100, Duration.ofMinutes(1));
        LockLease held = one.acquire(a());
        CompletableFuture<Duration> waited = timed(() -> {
            DistributedLock lock = two.lock(impatient);
            lock.lock();
            lock.unlock();
            return true;
        });
        assertThat(timed(() -> !two.lock(patient).tryLock()).get(SOON.toMillis(), TimeUnit.MILLISECONDS))
                .isLessThan(SOON);
        Awaitility.await().pollDelay(Duration.ofMillis(100)).until(() -> one.inspector()
                .status(held.name())
                .filter(status -> !status.waiters().isEmpty())
                .isPresent());
        held.close();
        assertThat(waited.get(SOON.toMillis(), TimeUnit.MILLISECONDS)).isGreaterThan(Duration.ofMillis(50));
    }

    private static CompletableFuture<Duration> timed(Supplier<Boolean> work) {
        return CompletableFuture.supplyAsync(() -> {
            long begun = System.nanoTime();
            assertThat(work.get()).isTrue();
            return Duration.ofNanos(System.nanoTime() - begun);
        });
    }

    @Test
    void aViewHasTheTimesAndTheModeOfItsRequest() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        DistributedLock fixed = one.lock(a().withLeaseTime(FIXED).withMinHoldTime(FIXED));
        fixed.lock();
        assertThat(fixed.remaining()).isBetween(FIXED.dividedBy(2), FIXED);
        fixed.unlock();
        assertThat(fixed.remaining()).isZero();
        assertThat(two.lock(a()).tryLock()).isFalse();

        DistributedLock reading = one.lock(b().withMode(LockMode.READ));
        reading.lock(FIXED);
        assertThat(reading.remaining()).isBetween(FIXED.dividedBy(2), FIXED);
        assertThat(two.readWriteLock(b().names().get(0)).readLock().tryLock()).isTrue();
        two.readWriteLock(b().names().get(0)).readLock().unlock();
        assertThatExceptionOfType(LockUpgradeException.class)
                .isThrownBy(() -> one.lock(b()).tryLock())
                .withMessageContaining("held for reading by this thread");
        reading.unlock();
    }

    @Test
    void aThreadIsSeenByAnother() throws Exception {
        LockTemplate one = instance();
        Thread here = Thread.currentThread();
        DistributedLock both = one.lock(both());
        both.lock();
        assertThat(CompletableFuture.supplyAsync(
                        () -> both.isHeldByThread(here) && !both.isHeldByThread(Thread.currentThread())))
                .succeedsWithin(SOON)
                .isEqualTo(true);
        both.unlock();
        assertThat(both.isHeldByThread(here)).isFalse();
        assertThat(instance().lock(both()).isHeldByThread(here)).isFalse();
    }

    @Test
    void itIsFreeAtOnceAfterAForcedReleaseOfTheSameInstance() {
        LockTemplate one = instance();
        DistributedLock lock = one.lock(a());
        for (int round = 0; round < 20; round++) {
            lock.lock();
            assertThat(one.inspector().forceRelease(a().names().get(0))).isTrue();
            assertThat(lock.isLocked()).isFalse();
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            assertThat(lock.remaining()).isZero();
            lock.unlock();
        }
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void aLeaseTimeOfMinusOneIsRefusedWithWhatToWrite() {
        LockTemplate one = instance();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> one.lock(both()).tryLock(Duration.ZERO, Duration.ofMillis(-1)))
                .withMessageContainingAll("PT-0.001S", "renewed until it is released", "tryLock(waitTime)");
        assertThat(one.lock(both()).isLocked()).isFalse();
    }
}
