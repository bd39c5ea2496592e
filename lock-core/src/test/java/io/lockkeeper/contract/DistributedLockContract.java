/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/**
 * A {@link DistributedLock} is owned as {@link java.util.concurrent.locks.Lock} says: hold counts, unlocking by
 * strangers, and what is only said of a lock that may be lost. The cases follow those of the JSR-166 TCK for
 * ReentrantLock.
 */
public abstract class DistributedLockContract extends LockViews {

    private static final int LEVELS = 100;
    private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

    @Test
    void aNewLockIsFree() {
        DistributedLock lock = lock();
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.currentLease()).isEmpty();
    }

    @Test
    void eachLockNeedsItsUnlock() throws Exception {
        DistributedLock lock = lock();
        DistributedLock elsewhere = lock();
        for (int level = 1; level <= LEVELS; level++) {
            enter(lock, level);
            assertThat(lock.getHoldCount()).isEqualTo(level);
        }
        long token = lock.currentLease().orElseThrow().fencingToken();
        for (int level = LEVELS; level >= 1; level--) {
            assertThat(lock.getHoldCount()).isEqualTo(level);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            assertThat(lock.currentLease().orElseThrow().fencingToken()).isEqualTo(token);
            assertThat(level % 25 == 0 && elsewhere.tryLock()).isFalse();
            lock.unlock();
        }
        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.isLocked()).isFalse();
        assertThat(isFree(elsewhere)).isTrue();
    }

    private static void enter(DistributedLock lock, int way) throws InterruptedException {
        switch (way % 8) {
            case 0 -> assertThat(lock.tryLock()).isTrue();
            case 1 -> lock.lock();
            case 2 -> lock.lockInterruptibly();
            case 3 -> assertThat(lock.tryLock(20, TimeUnit.SECONDS)).isTrue();
            case 4 -> assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isTrue();
            case 5 -> assertThat(lock.tryLock(Duration.ZERO)).isTrue();
            case 6 -> lock.lock(Duration.ofSeconds(1));
            default ->
                assertThat(lock.tryLock(Duration.ZERO, Duration.ofSeconds(1))).isTrue();
        }
    }

    @Test
    void unlockByAThreadThatDoesNotHoldTheLockIsRefused() throws Exception {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        assertThatThrownBy(() -> start(() -> {
                            lock.unlock();
                            return "unlocked";
                        })
                        .result())
                .hasCauseInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(lock()::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        try (LockLease lease = template.acquire(name)) {
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @Test
    void anotherThreadIsRefusedAndSeesThatTheLockIsTaken() throws Exception {
        DistributedLock lock = lock();
        DistributedLock elsewhere = lock();
        lock.lock();
        for (DistributedLock other : List.of(lock, elsewhere)) {
            assertThat(isFree(other)).isFalse();
            assertThat(start(() -> List.of(
                                    other.isLocked(),
                                    other.isHeldByCurrentThread(),
                                    other.getHoldCount(),
                                    other.currentLease().isPresent()))
                            .result())
                    .isEqualTo(List.<Object>of(true, false, 0, false));
        }
        // The hold belongs to this thread, but in its own instance only.
        assertThat(elsewhere.tryLock()).isFalse();
        assertThat(elsewhere.isHeldByCurrentThread()).isFalse();
        lock.unlock();
        assertThat(isFree(elsewhere)).isTrue();
    }

    @Test
    void anInterruptedThreadTriesAndUnlocksAndKeepsItsFlag() throws Exception {
        DistributedLock lock = lock();
        DistributedLock elsewhere = lock();
        Thread.currentThread().interrupt();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.tryLock()).isTrue();
        assertThat(elsewhere.tryLock()).isFalse();
        assertThat(lock.isLocked()).isTrue();
        assertThat(elsewhere.isLocked()).isTrue();
        assertThat(lock.getHoldCount()).isEqualTo(2);
        lock.unlock();
        lock.unlock();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(isFree(elsewhere)).isTrue();
    }

    @Test
    void allViewsOfANameInOneInstanceShareTheHold() {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        lock.lock();
        List<DistributedLock> others = view == View.SEVERAL
                ? List.of(view.of(template, name), template.lock(LockRequest.of(name + " too", name)))
                : List.of(template.lock(name), template.fairLock(name));
        for (DistributedLock same : others) {
            assertThat(same.isHeldByCurrentThread()).isTrue();
            same.lock();
            assertThat(lock.getHoldCount()).isEqualTo(2);
            assertThat(same.currentLease()).isEqualTo(lock.currentLease());
            lock.unlock();
            assertThat(same.getHoldCount()).isEqualTo(1);
        }
        assertThat(template.lock(name + "'").isHeldByCurrentThread()).isFalse();
        others.get(0).unlock();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void timesThatMakeNoSenseAreRefusedAndNothingIsHeld() {
        DistributedLock lock = lock();
        Duration second = Duration.ofSeconds(1);
        for (Duration tooShort : List.of(Duration.ofMillis(99), Duration.ZERO, Duration.ofSeconds(-1))) {
            assertThatIllegalArgumentException().isThrownBy(() -> lock.lock(tooShort));
            assertThatIllegalArgumentException().isThrownBy(() -> lock.lockInterruptibly(tooShort));
            assertThatIllegalArgumentException().isThrownBy(() -> lock.tryLock(second, tooShort));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> lock.tryLock(Duration.ofNanos(-1)));
        assertThatIllegalArgumentException().isThrownBy(() -> lock.tryLock(Duration.ofNanos(-1), second));
        assertThat(lock.isLocked()).isFalse();
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void overlongTimesAreWithoutLimit() throws Exception {
        DistributedLock lock = lock();
        for (Duration overlong : List.of(FOREVER, Duration.ofMillis(Long.MAX_VALUE), Duration.ofDays(200_000))) {
            lock.lock(overlong);
            LockLease lease = lock.currentLease().orElseThrow();
            // One that may be a late copy, to the store, has its whole lease after the first renewal.
            Awaitility.await()
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> lease.remaining().toDays() > 10_000);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(overlong, overlong)).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(overlong)).isTrue();
            assertThat(lock.currentLease().orElseThrow().extend(overlong)).isTrue();
            assertThat(lock.currentLease().orElseThrow().remaining()).isGreaterThan(Duration.ofDays(10_000));
            lock.unlock();
        }
        for (TimeUnit unit : TimeUnit.values()) {
            assertThat(lock.tryLock(Long.MAX_VALUE, unit)).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(Long.MIN_VALUE, unit)).isTrue();
            lock.unlock();
        }
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void aHoldThatWasLostIsUnlockedWithAWarning() throws Exception {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        DistributedLock elsewhere = lock();
        lock.lock();
        lock.lock();
        losesItsHold(template, lock);
        assertThat(elsewhere.tryLock(20, TimeUnit.SECONDS)).isTrue();

        assertThat(warnings(lock::unlock)).isEmpty();
        assertThat(warnings(lock::unlock)).singleElement().asString().contains(name);

        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(elsewhere.isHeldByCurrentThread()).isTrue();
        elsewhere.unlock();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void aReleaseTellsWhatCameOfIt() {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        lock.lock();
        lock.lock();
        assertThat(lock.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThat(lock.release()).isEqualTo(ReleaseResult.RELEASED);
        assertThatThrownBy(lock::release).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        losesItsHold(template, lock);
        assertThat(warnings(() -> assertThat(lock.release()).isEqualTo(ReleaseResult.LOST)))
                .isEmpty();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.release()).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    void aHoldThatWasLostIsReportedOnceAndThenBeginsAnew() throws Exception {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        lock.lock();
        lock.lock();
        losesItsHold(template, lock);

        assertThatThrownBy(lock::lock)
                .isInstanceOf(LockLostException.class)
                .hasStackTraceContaining("aHoldThatWasLostIsReportedOnceAndThenBeginsAnew");
        assertThat(lock.tryLock(20, TimeUnit.SECONDS)).isTrue();

        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(warnings(lock::unlock)).isEmpty();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(warnings(lock::unlock)).hasSize(1);
        assertThat(warnings(lock::unlock)).hasSize(1);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    private static void losesItsHold(LockTemplate template, DistributedLock lock) {
        LockLease lease = lock.currentLease().orElseThrow();
        assertThat(template.inspector().forceRelease(lease.name())).isTrue();
        Awaitility.await().until(() -> !lease.isHeld());
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.currentLease()).isEmpty();
    }

    @Test
    void aFixedLeaseThatEndedAsAskedBeginsAnewAtTheNextLock() throws Exception {
        DistributedLock lock = lock();
        lock.lock(Duration.ofMillis(200));
        ends(lock);

        assertThat(warnings(() -> assertThat(tryLock(lock)).isTrue()))
                .singleElement()
                .asString()
                .contains(name, "unlock");

        assertThat(lock.getHoldCount()).isEqualTo(1);
        assertThat(warnings(lock::unlock)).isEmpty();
        assertThat(warnings(lock::unlock)).hasSize(1);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void aFixedLeaseThatEndedInsideABodyIsLostThere() {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        LockRequest shortly = LockRequest.of(name).withLeaseTime(Duration.ofMillis(200));
        template.run(shortly, lease -> {
            Awaitility.await().until(() -> !lease.isHeld());
            assertThatThrownBy(lock::tryLock).isInstanceOf(LockLostException.class);
            assertThatThrownBy(() -> template.run(name, inner -> {})).isInstanceOf(LockLostException.class);
        });
        assertThat(tryLock(lock)).isTrue();
        lock.unlock();
    }

    @Test
    void aFixedLeaseThatEndedAsAskedIsEnteredAnewByABody() {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        lock.lock(Duration.ofMillis(200));
        ends(lock);

        LockRequest waiting = LockRequest.of(name).withWaitTime(Duration.ofSeconds(20));
        template.run(waiting, lease -> assertThat(lease.isHeld()).isTrue());

        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(warnings(lock::unlock)).hasSize(1);
    }

    @Test
    void anUnlockThatIsOwedWarnsAndEndsNothingWhileAnotherHoldGoesOn() {
        LockTemplate template = instance();
        DistributedLock lock = view.of(template, name);
        lock.lock(Duration.ofMillis(200));
        ends(lock);

        LockRequest waiting = LockRequest.of(name).withWaitTime(Duration.ofSeconds(20));
        template.run(waiting, lease -> {
            assertThat(warnings(lock::unlock)).singleElement().asString().contains(name);
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThat(lease.isHeld()).isTrue();
        });
    }

    /** Waits for the end of a fixed lease, which may have come on a slow machine. */
    private static void ends(DistributedLock lock) {
        Awaitility.await().pollInSameThread().until(() -> !lock.isHeldByCurrentThread());
        assertThat(lock.getHoldCount()).isZero();
        assertThat(lock.currentLease()).isEmpty();
    }

    private static boolean tryLock(DistributedLock lock) {
        try {
            return lock.tryLock(20, TimeUnit.SECONDS);
        } catch (InterruptedException foreign) {
            throw new IllegalStateException(foreign);
        }
    }

    @Test
    void anInnerLeaseTimeExtendsAFixedHoldAndNeverShortensIt() {
        DistributedLock lock = lock();
        lock.lock(Duration.ofSeconds(5));
        long token = lock.currentLease().orElseThrow().fencingToken();

        lock.lock(Duration.ofSeconds(60));
        assertThat(remaining(lock)).isBetween(Duration.ofSeconds(30), Duration.ofSeconds(60));
        lock.lock(Duration.ofSeconds(1));
        lock.lock();
        assertThat(remaining(lock)).isBetween(Duration.ofSeconds(30), Duration.ofSeconds(60));

        assertThat(lock.currentLease().orElseThrow().fencingToken()).isEqualTo(token);
        for (int level = 4; level >= 1; level--) {
            assertThat(lock.getHoldCount()).isEqualTo(level);
            assertThat(remaining(lock)).isGreaterThan(Duration.ofSeconds(20));
            lock.unlock();
        }
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    void anInnerLeaseTimeLeavesARenewedHoldRenewed() {
        LockTemplate template = instance();
        template.run(name, outer -> {
            template.run(LockRequest.of(name).withLeaseTime(Duration.ofMillis(100)), inner -> {});
            assertThat(outer.remaining()).isGreaterThan(Duration.ofSeconds(10));
        });
    }

    @Test
    void anInnerBodyExtendsAFixedHold() {
        LockTemplate template = instance();
        template.run(LockRequest.of(name).withLeaseTime(Duration.ofSeconds(5)), outer -> {
            template.run(
                    LockRequest.of(name).withLeaseTime(Duration.ofSeconds(60)),
                    inner -> assertThat(inner.remaining()).isGreaterThan(Duration.ofSeconds(30)));
            assertThat(outer.remaining()).isGreaterThan(Duration.ofSeconds(30));
            template.executeUntil(
                            LockRequest.of(name).withLeaseTime(Duration.ofSeconds(120)),
                            List.of(),
                            inner -> inner.remaining(),
                            CompletableFuture::completedFuture)
                    .thenAccept(left -> assertThat(left).isGreaterThan(Duration.ofSeconds(90)))
                    .join();
        });
    }

    private static Duration remaining(DistributedLock lock) {
        return lock.currentLease().orElseThrow().remaining();
    }

    private static List<String> warnings(Runnable work) {
        Logger logger = (Logger) LoggerFactory.getLogger(LockLease.class);
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        Level level = logger.getLevel();
        logger.setLevel(Level.WARN);
        logger.addAppender(appender);
        try {
            work.run();
        } finally {
            logger.detachAppender(appender);
            logger.setLevel(level);
        }
        return appender.list.stream()
                .filter(event -> event.getLevel().equals(Level.WARN))
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    @Test
    void theTextOfALockTellsWhichItIs() {
        assertThat(lock()).asString().contains(name).containsPattern(view == View.FAIR ? "FAIR" : "EXCLUSIVE");
    }
}
