/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * A {@link DistributedLock} is waited for as {@link java.util.concurrent.locks.Lock} says: timed waits, interrupts at
 * each point, and nothing left behind by those who leave. The cases follow those of the JSR-166 TCK for ReentrantLock.
 */
public abstract class DistributedLockWaitContract extends LockViews {

    /** So long that also a slow machine has the store's answer. */
    private static final Duration WAIT = Duration.ofMillis(250);

    /** Less than a grant to somebody who is gone would cost, and long enough for a slow machine. */
    private static final Duration AT_ONCE = LEASE.dividedBy(3);

    private static final int ROUNDS = 150;

    /** When it is enough where all rounds have ended in the same way. */
    private static final int MOST_ROUNDS = 10 * ROUNDS;

    /** A way into the lock that an interrupt ends. */
    private interface Way {
        boolean enter(DistributedLock lock) throws InterruptedException;
    }

    private static final List<Way> INTERRUPTIBLE = List.of(
            lock -> {
                lock.lockInterruptibly();
                return true;
            },
            lock -> {
                lock.lockInterruptibly(LEASE);
                return true;
            },
            lock -> lock.tryLock(20, TimeUnit.SECONDS),
            lock -> lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS),
            lock -> lock.tryLock(Duration.ofSeconds(20)),
            lock -> lock.tryLock(Duration.ofSeconds(20), LEASE));

    @Test
    void aTimedWaitEndsInTime() throws Exception {
        DistributedLock lock = lock();
        lock.lock();
        DistributedLock elsewhere = lock();
        for (DistributedLock other : List.of(lock, elsewhere)) {
            for (long none : new long[] {0, -1, Long.MIN_VALUE}) {
                assertThat(timed(() -> other.tryLock(none, TimeUnit.SECONDS))).isLessThan(AT_ONCE);
            }
            assertThat(timed(() -> other.tryLock(Duration.ZERO))).isLessThan(AT_ONCE);
            assertThat(timed(() -> other.tryLock(Duration.ZERO, LEASE))).isLessThan(AT_ONCE);
            assertThat(timed(() -> other.tryLock(WAIT.toMillis(), TimeUnit.MILLISECONDS)))
                    .isBetween(WAIT, WAIT.plus(AT_ONCE));
            assertThat(timed(() -> other.tryLock(WAIT))).isBetween(WAIT, WAIT.plus(AT_ONCE));
            assertThat(timed(() -> other.tryLock(WAIT, LEASE))).isBetween(WAIT, WAIT.plus(AT_ONCE));
        }
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        // A refused waiter's place may outlast its call where the machine is slow, and is granted the lock then.
        Awaitility.await().until(() -> isFree(elsewhere));
    }

    /** Returns how long another thread was refused. */
    private static Duration timed(Callable<Boolean> refused) throws Exception {
        return start(() -> {
                    long begin = System.nanoTime();
                    assertThat(refused.call()).isFalse();
                    return Duration.ofNanos(System.nanoTime() - begin);
                })
                .result();
    }

    @Test
    void aTimedWaitEndsWithTheLockWhenItIsReleasedMeanwhile() throws Exception {
        DistributedLock lock = lock();
        DistributedLock elsewhere = lock();
        for (DistributedLock other : List.of(lock, elsewhere)) {
            lock.lock();
            Running<Integer> waiter = start(() -> {
                        assertThat(other.tryLock(20, TimeUnit.SECONDS)).isTrue();
                        int count = other.getHoldCount();
                        other.unlock();
                        return count;
                    })
                    .waiting();
            lock.unlock();
            assertThat(waiter.result()).isEqualTo(1);
        }
    }

    @Test
    void anInterruptedThreadIsRefusedBeforeItWaits() throws Exception {
        DistributedLock lock = lock();
        for (Way way : INTERRUPTIBLE) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> way.enter(lock)).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            assertThat(lock.isLocked()).isFalse();
        }
        lock.lock();
        for (Way way : INTERRUPTIBLE) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> way.enter(lock)).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            assertThat(lock.getHoldCount()).isEqualTo(1);
        }
        assertThat(lock.currentLease().orElseThrow().verify()).isTrue();
        lock.unlock();
    }

    @Test
    void aWaitThatIsInterruptedEndsAtOnceAndClearsTheFlag() throws Exception {
        DistributedLock held = lock();
        DistributedLock elsewhere = lock();
        held.lock();
        for (DistributedLock other : List.of(held, elsewhere)) {
            for (Way way : INTERRUPTIBLE) {
                Running<List<Object>> waiter = start(() -> {
                            assertThatThrownBy(() -> way.enter(other)).isInstanceOf(InterruptedException.class);
                            return List.<Object>of(
                                    Thread.currentThread().isInterrupted(),
                                    other.isHeldByCurrentThread(),
                                    other.getHoldCount());
                        })
                        .waiting();
                long begin = System.nanoTime();
                waiter.thread().interrupt();
                assertThat(waiter.result()).isEqualTo(List.<Object>of(false, false, 0));
                assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(AT_ONCE);
            }
        }
        assertThat(held.currentLease().orElseThrow().verify()).isTrue();
        held.unlock();
        // The last place may leave the queue later than the release comes, and is granted the lock then.
        Awaitility.await().until(() -> isFree(elsewhere));
    }

    @Test
    void lockGoesOnWaitingWhenItIsInterruptedAndSetsTheFlagAgain() throws Exception {
        DistributedLock held = lock();
        DistributedLock elsewhere = lock();
        for (DistributedLock other : List.of(held, elsewhere)) {
            for (Way way : List.<Way>of(
                    lock -> {
                        lock.lock();
                        return true;
                    },
                    lock -> {
                        lock.lock(LEASE);
                        return true;
                    })) {
                held.lock();
                Running<List<Object>> waiter = start(() -> {
                            way.enter(other);
                            boolean flag = Thread.currentThread().isInterrupted();
                            boolean mine = other.isHeldByCurrentThread();
                            other.unlock();
                            return List.<Object>of(flag, mine, Thread.interrupted());
                        })
                        .waiting();
                waiter.thread().interrupt();
                waiter.thread().join(50);
                waiter.thread().interrupt();
                waiter.waiting();
                assertThat(waiter.outcome()).isNotDone();
                held.unlock();
                assertThat(waiter.result()).isEqualTo(List.<Object>of(true, true, true));
            }
        }
        Thread.currentThread().interrupt();
        held.lock();
        assertThat(Thread.interrupted()).isTrue();
        held.unlock();
    }

    @Test
    void anInterruptedWaiterLeavesNoPlaceInTheQueue() throws Exception {
        DistributedLock held = lock();
        DistributedLock first = lock();
        DistributedLock second = lock();
        for (DistributedLock leaving : List.of(held, first, second)) {
            held.lock();
            Running<Boolean> leaver = start(() -> {
                        leaving.lockInterruptibly();
                        return true;
                    })
                    .waiting();
            Running<Boolean> waiter = start(() -> {
                        second.lock();
                        second.unlock();
                        return true;
                    })
                    .waiting();
            leaver.thread().interrupt();
            assertThatThrownBy(leaver::result).hasCauseInstanceOf(InterruptedException.class);
            long begin = System.nanoTime();
            held.unlock();
            assertThat(waiter.result()).isTrue();
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(AT_ONCE);
        }
    }

    @Test
    void allWaitersAreServed() throws Exception {
        List<LockTemplate> instances = List.of(instance(), instance(), instance());
        CountDownLatch begin = new CountDownLatch(1);
        int[] counter = {0};
        List<Running<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            DistributedLock lock = view.of(instances.get(i % instances.size()), name);
            Way way = INTERRUPTIBLE.get(i % INTERRUPTIBLE.size());
            waiters.add(start(() -> {
                begin.await();
                boolean entered = way.enter(lock);
                counter[0]++;
                lock.unlock();
                return entered;
            }));
        }
        begin.countDown();
        for (Running<Boolean> waiter : waiters) {
            assertThat(waiter.result()).isTrue();
        }
        assertThat(counter[0]).isEqualTo(60);
    }

    @Test
    void aWaiterThatIsInterruptedAndGrantedAtOnceLeaksNothing() throws Exception {
        DistributedLock held = lock();
        DistributedLock elsewhere = lock();
        int entered = 0;
        int round = 0;
        // The interrupt comes later after each round in which it was first, and else sooner: a busy machine grants
        // late.
        long aimNanos = 0;
        for (; round < ROUNDS || (round < MOST_ROUNDS && (entered == 0 || entered == round)); round++) {
            DistributedLock contended = round % 2 == 0 ? held : elsewhere;
            held.lock();
            Running<Boolean> waiter = start(() -> enteredAndLeft(contended)).waiting();
            CyclicBarrier together = new CyclicBarrier(2);
            long delayNanos = aimNanos;
            Running<Boolean> interrupter = start(() -> {
                together.await();
                spin(delayNanos);
                waiter.thread().interrupt();
                return true;
            });
            together.await();
            held.unlock();
            interrupter.result();
            boolean grantedFirst = waiter.result();
            entered += grantedFirst ? 1 : 0;
            aimNanos = grantedFirst ? aimNanos / 2 : aimNanos + 50_000;
            assertThat(elsewhere.tryLock(AT_ONCE)).as("round %s", round).isTrue();
            elsewhere.unlock();
        }
        assertThat(entered).as("rounds in which the grant was first").isBetween(1, round - 1);
    }

    private static boolean enteredAndLeft(DistributedLock lock) {
        try {
            lock.lockInterruptibly();
        } catch (InterruptedException interrupted) {
            return false;
        }
        lock.unlock();
        return true;
    }

    private static void spin(long nanos) {
        long begin = System.nanoTime();
        long some = nanos + ThreadLocalRandom.current().nextLong(100_000);
        while (System.nanoTime() - begin < some) {
            Thread.onSpinWait();
        }
    }
}
