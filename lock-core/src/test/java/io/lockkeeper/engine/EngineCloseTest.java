/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** No caller is left waiting for a template that has closed. */
class EngineCloseTest {

    private static final Set<Thread.State> WAITING = Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

    /** An error of so deep a stack takes a millisecond: something is tried in one of so many frames only. */
    private static final int TRIED_FRAMES = 5;

    private static final LockRequest HELD_BY_OTHERS = LockRequest.of("orders").withWaitTime(Duration.ofMinutes(1));

    private final MemoryLockStore store = new MemoryLockStore();
    private final LockTemplate template = template(store);
    private final LockTemplate other = template(store.peer());

    @Test
    void aCallerWhoHoldsALockAndWaitsForAnotherIsRefusedWhenTheTimeToFinishIsOver() {
        LockLease theirs = other.acquire(HELD_BY_OTHERS);
        AtomicReference<Thread> caller = new AtomicReference<>();
        CompletableFuture<LockLease> nested = CompletableFuture.supplyAsync(() -> {
            template.lock("stock").lock();
            caller.set(Thread.currentThread());
            return template.acquire(HELD_BY_OTHERS);
        });
        Awaitility.await()
                .until(() ->
                        caller.get() != null && WAITING.contains(caller.get().getState()));

        template.close();

        assertThat(nested)
                .failsWithin(Duration.ofSeconds(5))
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class);
        assertThat(theirs.isHeld()).isTrue();
        other.close();
    }

    private static LockTemplate template(MemoryLockStore store) {
        return LockTemplate.builder(store).shutdownWait(Duration.ZERO).build();
    }

    @Test
    void aListenerThatBlocksTheTimerDoesNotKeepCloseWaiting() throws InterruptedException {
        CountDownLatch told = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        LockListener blocking = new LockListener() {
            @Override
            public void onLost(Lost event) {
                told.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException interrupt) {
                    Thread.currentThread().interrupt();
                }
            }
        };
        LockTemplate blocked = LockTemplate.builder(new MemoryLockStore())
                .leaseTime(Duration.ofSeconds(1))
                .shutdownWait(Duration.ofMillis(100))
                .listener(blocking)
                .build();
        blocked.acquire(LockRequest.of("short").withLeaseTime(Duration.ofMillis(100)));
        // Received by this thread, not by the one that closes.
        LockLease held = blocked.acquire("held");
        told.await();

        CompletableFuture<Void> closing = CompletableFuture.runAsync(blocked::close);

        try {
            assertThat(closing).succeedsWithin(Duration.ofSeconds(20));
        } finally {
            goOn.countDown();
        }
        assertThat(held.isHeld()).isFalse();
    }

    @Test
    void aListenerThatBlocksAReleaseDoesNotKeepCloseWaiting() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        LockTemplate blocked = LockTemplate.builder(new MemoryLockStore())
                .leaseTime(Duration.ofSeconds(1))
                .shutdownWait(Duration.ZERO)
                .listener(new LockListener() {
                    @Override
                    public void onReleased(Released event) {
                        try {
                            goOn.await();
                        } catch (InterruptedException interrupt) {
                            Thread.currentThread().interrupt();
                        }
                    }
                })
                .build();
        CompletableFuture.runAsync(() -> blocked.acquire("held")).join();

        try {
            assertThat(CompletableFuture.runAsync(blocked::close)).succeedsWithin(Duration.ofSeconds(20));
        } finally {
            goOn.countDown();
        }
    }

    @Test
    void aListenerMayUseTheTemplateWhileItsThreadLocks() {
        AtomicReference<LockTemplate> self = new AtomicReference<>();
        try (LockTemplate used = LockTemplate.builder(store.peer())
                .shutdownWait(Duration.ZERO)
                .listener(new LockListener() {
                    @Override
                    public void onAcquired(Acquired event) {
                        if (event.request().names().contains("stock")) {
                            self.get().tryRun("audit", lease -> {});
                        }
                    }
                })
                .build()) {
            self.set(used);
            DistributedLock lock = used.lock("stock");
            lock.lock();
            assertThat(lock.isHeldByCurrentThread()).isTrue();

            lock.unlock();

            assertThat(other.tryAcquire("stock")).isPresent();
        }
        other.close();
    }

    @Test
    void neitherOfTwoThreadsThatCloseWaitsForTheLeasesOfBoth() {
        LockTemplate closing = LockTemplate.builder(store.peer())
                .shutdownWait(Duration.ofMinutes(5))
                .build();
        CountDownLatch bothHold = new CountDownLatch(2);

        CompletableFuture<?> closed = CompletableFuture.allOf(
                closeWhileHolding(closing, "orders", bothHold), closeWhileHolding(closing, "stock", bothHold));

        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        other.close();
    }

    private static CompletableFuture<Void> closeWhileHolding(
            LockTemplate closing, String name, CountDownLatch bothHold) {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        Thread closer = new Thread(() -> {
            closing.lock(name).lock();
            bothHold.countDown();
            try {
                bothHold.await();
                closing.close();
                closed.complete(null);
            } catch (InterruptedException interrupt) {
                closed.completeExceptionally(interrupt);
            }
        });
        closer.setDaemon(true);
        closer.start();
        return closed;
    }

    @Test
    void theThreadsEndWhereTheStoreCannotBeClosed() {
        DelegatingStore failing = new DelegatingStore(new MemoryLockStore()) {
            @Override
            public void close() {
                super.close();
                throw new IllegalStateException("gone");
            }
        };
        Set<Thread> before = threads("lockkeeper-timer");
        LockTemplate closing = LockTemplate.builder(failing).build();
        closing.run("stock", lease -> {});
        Set<Thread> started = threads("lockkeeper-timer");
        started.removeAll(before);
        assertThat(started).isNotEmpty();

        assertThatIllegalStateException().isThrownBy(closing::close).withMessage("gone");

        Awaitility.await().untilAsserted(() -> assertThat(started).noneMatch(Thread::isAlive));
    }

    @Test
    void aTemplateThatFoundNoRoomOnTheStackCanBeClosed() {
        template.close();
        other.close();
        for (int i = 0; i < 8; i++) {
            LockTemplate closing = template(new MemoryLockStore());
            closing.acquire("stock");
            CompletableFuture<Boolean> closed = new CompletableFuture<>();
            Thread thread = new Thread(
                    null, () -> closed.complete(closeAtTheEndOfTheStack(closing, 0)), "deep", 512 * 1024 + 1_777L * i);
            thread.setDaemon(true);
            thread.start();

            assertThat(closed).succeedsWithin(Duration.ofSeconds(60)).isEqualTo(true);
        }
    }

    /** Tries at the end first, and again where there is a little more room; returns whether it was closed. */
    @SuppressWarnings("InfiniteRecursion") // It ends with the stack.
    private static boolean closeAtTheEndOfTheStack(LockTemplate closing, int depth) {
        try {
            if (closeAtTheEndOfTheStack(closing, depth + 1)) {
                return true;
            }
        } catch (StackOverflowError end) {
            // Here there is more room.
        }
        if (depth % TRIED_FRAMES != 0) {
            return false;
        }
        try {
            closing.close();
            return true;
        } catch (StackOverflowError noRoom) {
            return false;
        }
    }

    @Test
    void theThreadsOfCommandsEndWithTheTemplate() {
        Set<Thread> before = threads("lockkeeper-command");
        LockTemplate closing = template(new MemoryLockStore());
        LockLease lease = closing.acquire("stock");
        // A command in the background.
        closing.inspector().forceRelease("stock");
        Awaitility.await().until(() -> !lease.isHeld());
        Set<Thread> started = threads("lockkeeper-command");
        started.removeAll(before);
        assertThat(started).isNotEmpty();

        closing.close();

        Awaitility.await().atMost(Duration.ofSeconds(5)).untilAsserted(() -> assertThat(started)
                .noneMatch(Thread::isAlive));
    }

    private static Set<Thread> threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(name))
                .collect(Collectors.toCollection(HashSet::new));
    }
}
