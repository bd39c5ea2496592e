/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Many readers or one writer; phase-fair. */
public abstract class ReadWriteContract extends StoreContract {

    private static final Duration LONG = Duration.ofSeconds(20);

    private LockRequest read() {
        return LockRequest.of(name).withMode(LockMode.READ);
    }

    private LockRequest write() {
        return LockRequest.of(name).withMode(LockMode.WRITE);
    }

    private static LockRequest waiting(LockRequest request) {
        return request.withWaitTime(LONG);
    }

    /** Begins a wait, and returns when the store has it in its queue. */
    private CompletableFuture<LockLease> waits(LockTemplate template, LockRequest request, int waiters) {
        CompletableFuture<LockLease> waiting = template.acquireAsync(waiting(request));
        awaitWaiters(template, waiters);
        assertThat(waiting).isNotDone();
        return waiting;
    }

    private void awaitWaiters(LockTemplate template, int waiters) {
        Awaitility.await().atMost(SOON).until(() -> template.inspector()
                .status(name)
                .filter(status -> status.waiters().size() == waiters)
                .isPresent());
    }

    private static LockLease soon(CompletableFuture<LockLease> future) throws Exception {
        return future.get(SOON.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Test
    void readersShareALockAndNobodyElseHasIt() {
        LockTemplate first = instance();
        LockTemplate second = instance();
        try (LockLease one = first.acquire(read());
                LockLease two = first.acquire(read());
                LockLease three = second.acquire(read())) {
            for (LockLease lease : List.of(one, two, three)) {
                assertThat(lease.isHeld()).isTrue();
                assertThat(lease.verify()).isTrue();
                assertThat(lease.mode()).isEqualTo(LockMode.READ);
                assertThat(lease.fencingToken()).isEqualTo(one.fencingToken());
            }
            for (LockMode mode : List.of(LockMode.EXCLUSIVE, LockMode.FAIR, LockMode.WRITE)) {
                assertThat(first.tryAcquire(LockRequest.of(name).withMode(mode)))
                        .isEmpty();
                assertThat(second.tryAcquire(LockRequest.of(name).withMode(mode)))
                        .isEmpty();
            }
        }
        assertThat(second.tryAcquire(write())).hasValueSatisfying(LockLease::close);
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR", "WRITE"})
    void anExclusiveHolderExcludesReaders(LockMode mode) {
        LockTemplate first = instance();
        LockTemplate second = instance();
        try (LockLease writer = first.acquire(LockRequest.of(name).withMode(mode))) {
            assertThat(writer.mode()).isEqualTo(mode);
            assertThat(first.tryAcquire(read())).isEmpty();
            assertThat(second.tryAcquire(read())).isEmpty();
            assertThat(second.tryAcquire(write())).isEmpty();
        }
        assertThat(second.tryAcquire(read())).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aReadersTokenIsNotBelowTheLastWritersAndTheNextWritersIsAbove() {
        LockTemplate first = instance();
        LockTemplate second = instance();
        long last = 0;
        for (int i = 0; i < 10; i++) {
            LockLease writer = first.acquire(write());
            assertThat(writer.fencingToken()).isGreaterThan(last);
            writer.close();
            LockLease reader = second.acquire(read());
            assertThat(reader.fencingToken()).isGreaterThanOrEqualTo(writer.fencingToken());
            reader.close();
            last = reader.fencingToken();
        }
    }

    @Test
    void readersStopJoiningWhenAWriterWaits() throws Exception {
        LockTemplate local = instance(Duration.ofSeconds(30));
        LockTemplate distant = instance(Duration.ofMillis(20));
        LockLease reader = local.acquire(read());
        LockLease farReader = distant.acquire(read());
        CompletableFuture<LockLease> writer = waits(local, write(), 1);
        assertThat(local.tryAcquire(read())).isEmpty();
        Awaitility.await().atMost(SOON).until(() -> refused(distant.tryAcquire(read())));

        CompletableFuture<LockLease> later = waits(distant, read(), 2);
        CompletableFuture<LockLease> lastWriter = waits(distant, write(), 3);
        reader.close();
        assertThat(writer).isNotDone();
        farReader.close();
        LockLease writing = soon(writer);
        assertThat(later).isNotDone();
        writing.close();
        LockLease reading = soon(later);
        assertThat(lastWriter).isNotDone();
        reading.close();
        soon(lastWriter).close();
    }

    private static boolean refused(Optional<LockLease> lease) {
        lease.ifPresent(LockLease::close);
        return lease.isEmpty();
    }

    @Test
    void aReleasedWriterAdmitsAllLeadingReadersAtOnce() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockTemplate three = instance();
        LockLease writer = one.acquire(write());
        CompletableFuture<LockLease> first = waits(one, read(), 1);
        CompletableFuture<LockLease> second = waits(two, read(), 2);
        CompletableFuture<LockLease> next = waits(three, write(), 3);
        CompletableFuture<LockLease> behind = waits(three, read(), 4);
        writer.close();
        LockLease a = soon(first);
        LockLease b = soon(second);
        assertThat(a.isHeld() && b.isHeld()).isTrue();
        assertThat(next).isNotDone();
        assertThat(behind).isNotDone();
        a.close();
        b.close();
        soon(next).close();
        soon(behind).close();
    }

    @Test
    void aWriterWhoGivesUpLetsTheReadersBehindItIn() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        try (LockLease reader = one.acquire(read())) {
            CompletableFuture<LockLease> writer = waits(two, write(), 1);
            CompletableFuture<LockLease> behind = waits(two, read(), 2);
            writer.cancel(true);
            soon(behind).close();
            assertThat(reader.isHeld()).isTrue();
        }
    }

    @Test
    void aWriterWhoGoesOnAsReaderLetsOtherReadersIn() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        DistributedReadWriteLock lock = one.readWriteLock(name);
        lock.writeLock().lock();
        long token = lock.writeLock().currentLease().orElseThrow().fencingToken();
        CompletableFuture<LockLease> reader = waits(two, read(), 1);
        CompletableFuture<LockLease> writer = waits(two, write(), 2);
        lock.readLock().lock();
        assertThat(lock.readLock().getHoldCount()).isEqualTo(1);
        lock.writeLock().unlock();
        assertThat(lock.writeLock().isHeldByCurrentThread()).isFalse();
        assertThat(lock.readLock().isHeldByCurrentThread()).isTrue();
        LockLease here = lock.readLock().currentLease().orElseThrow();
        assertThat(here.mode()).isEqualTo(LockMode.READ);
        assertThat(here.fencingToken()).isEqualTo(token);
        assertThat(here.verify()).isTrue();
        LockLease there = soon(reader);
        there.close();
        assertThat(writer).isNotDone();
        lock.readLock().unlock();
        soon(writer).close();
    }

    @Test
    void aDowngradedHoldIsRenewed() throws Exception {
        LockTemplate one = renewing();
        LockTemplate two = instance();
        DistributedReadWriteLock lock = one.readWriteLock(name);
        lock.writeLock().lock();
        lock.readLock().lock();
        lock.writeLock().unlock();
        assertRenewed(lock.readLock().currentLease().orElseThrow(), two);
        assertThat(two.tryAcquire(write())).isEmpty();
        lock.readLock().unlock();
        assertThat(two.tryAcquire(write())).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aReaderIsRefusedAnythingElseAtOnce() {
        LockTemplate template = instance();
        for (LockMode mode : List.of(LockMode.EXCLUSIVE, LockMode.FAIR, LockMode.WRITE)) {
            LockRequest upgrade = waiting(LockRequest.of(name).withMode(mode));
            template.run(read(), reading -> {
                assertThatThrownBy(() -> template.run(upgrade, never -> {}))
                        .isInstanceOf(LockUpgradeException.class)
                        .hasMessageContaining(name);
                template.run(read(), again -> assertThat(again.isHeld()).isTrue());
                assertThat(reading.isHeld()).isTrue();
            });
        }
        DistributedReadWriteLock lock = template.readWriteLock(name);
        lock.readLock().lock();
        assertThatThrownBy(() -> lock.writeLock().lock()).isInstanceOf(LockUpgradeException.class);
        assertThatThrownBy(() -> lock.writeLock().tryLock()).isInstanceOf(LockUpgradeException.class);
        lock.readLock().unlock();
    }

    @Test
    void aWriterMayReadWithinAndNothingIsReleasedEarly() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        one.run(write(), writing -> {
            one.run(read(), reading -> {
                assertThat(reading.mode()).isEqualTo(LockMode.READ);
                assertThat(reading.fencingToken()).isEqualTo(writing.fencingToken());
                assertThat(reading.release()).isEqualTo(ReleaseResult.RELEASED);
            });
            assertThat(writing.isHeld()).isTrue();
            assertThat(two.tryAcquire(read())).isEmpty();
        });
        assertThat(two.tryAcquire(write())).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aReaderWithALeaseOfItsOwnDelaysAWriterNoLonger() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockLease brief = one.acquire(read().withLeaseTime(Duration.ofMillis(500)));
        LockLease steady = two.acquire(read());
        CompletableFuture<LockLease> writer = waits(two, write(), 1);
        steady.close();
        LockLease writing = soon(writer);
        assertThat(brief.isHeld()).isFalse();
        writing.close();
        assertThat(brief.release()).isEqualTo(ReleaseResult.LOST);
    }

    @Test
    void aReaderWhoExtendsItsLeaseEndsAloneAndOnTime() {
        LockTemplate template = instance();
        LockLease limited = template.acquire(read());
        LockLease other = template.acquire(read());
        assertThat(limited.extend(Duration.ofMillis(300))).isTrue();
        assertThat(limited.remaining()).isLessThanOrEqualTo(Duration.ofMillis(300));
        Awaitility.await().atMost(SOON).until(() -> !limited.isHeld());
        assertThat(other.isHeld()).isTrue();
        assertThat(other.verify()).isTrue();
        assertThat(other.extend(LEASE.multipliedBy(3))).isTrue();
        assertThat(other.remaining()).isGreaterThan(LEASE);
        other.close();
        // The one that ended by itself may be on its way out still.
        template.acquire(write().withWaitTime(SOON)).close();
    }

    @Test
    void theViewsTellReadersFromWriters() {
        LockTemplate one = instance();
        DistributedReadWriteLock here = one.readWriteLock(name);
        DistributedReadWriteLock there = instance().readWriteLock(name);
        here.readLock().lock();
        here.readLock().lock();
        assertThat(here.readLock().getHoldCount()).isEqualTo(2);
        assertThat(here.writeLock().getHoldCount()).isZero();
        assertThat(there.readLock().isLocked()).isTrue();
        assertThat(there.writeLock().isLocked()).isFalse();
        assertThatThrownBy(() -> here.writeLock().unlock()).isInstanceOf(IllegalMonitorStateException.class);
        here.readLock().unlock();
        here.readLock().unlock();
        here.writeLock().lock();
        assertThat(there.readLock().isLocked()).isFalse();
        assertThat(there.writeLock().isLocked()).isTrue();
        here.writeLock().unlock();
        assertThat(there.writeLock().isLocked()).isFalse();
    }
}
