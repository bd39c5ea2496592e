/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What an operator reads when an application stops. */
class ClosingTest {

    private final Logger logger = (Logger) LoggerFactory.getLogger(LockTemplate.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final LockTemplate template = LockTemplate.builder(new MemoryLockStore())
            .shutdownWait(Duration.ofMillis(50))
            .build();

    @BeforeEach
    void listen() {
        lines.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(lines);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(lines);
        logger.setLevel(null);
    }

    @Test
    void aLockThatIsTakenFromItsHolderIsNamed() {
        LockLease lease = template.acquire("stock");
        template.close();

        assertThat(lease.isHeld()).isFalse();
        assertThat(warnings())
                .containsExactly("Released although their holders have not ended, so that others may have them now: 1"
                        + " held, 'stock' (fencing token " + lease.fencingToken() + "). Closing waits up to 50 ms,"
                        + " and not for what the thread holds that closes");
    }

    @Test
    void aThreadDoesNotWaitForItsOwnLease() {
        LockTemplate patient = patient();
        LockLease lease = patient.acquire("stock");
        assertTimeout(Duration.ofSeconds(20), patient::close);
        assertThat(lease.isHeld()).isFalse();
        assertThat(warnings()).singleElement().asString().contains("'stock'");
    }

    @Test
    void aThreadDoesNotWaitForALeaseThatItReceivedByAFuture() throws Exception {
        LockTemplate patient = patient();
        LockLease joined = patient.acquireAsync(LockRequest.of("stock")).join();
        LockLease got = patient.acquireAsync(LockRequest.of("orders")).get();
        LockLease gotInTime = patient.acquireAsync(LockRequest.of("invoices")).get(20, TimeUnit.SECONDS);
        assertTimeout(Duration.ofSeconds(20), patient::close);
        assertThat(List.of(joined, got, gotInTime)).noneMatch(LockLease::isHeld);
    }

    @Test
    void aThreadWaitsForTheStageThatItHasBegun() {
        LockTemplate patient = patient();
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<Void> closed =
                closingAfter(patient, () -> patient.executeStage(LockRequest.of("stock"), lease -> work));
        staysOpen(closed);
        work.complete("done");
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        assertThat(warnings()).isEmpty();
    }

    @Test
    void theEndOfALeaseOfTheThreadThatClosesIsNotThatOfAnother() {
        LockTemplate patient = patient();
        LockLease other = patient.acquire("stock");
        CompletableFuture<LockLease> own = new CompletableFuture<>();
        CompletableFuture<Void> closed = closingAfter(patient, () -> own.complete(patient.acquire("orders")));
        own.join().close();
        staysOpen(closed);
        assertThat(other.isHeld()).isTrue();
        other.close();
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        assertThat(warnings()).isEmpty();
    }

    @Test
    void aThreadWaitsForTheStageThatItHasBegunUnderItsOwnLock() {
        LockTemplate patient = patient();
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<Void> closed = closingAfter(
                patient,
                () -> patient.run("stock", lease -> patient.executeStage(LockRequest.of("stock"), level -> work)));
        staysOpen(closed);
        work.complete("done");
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        assertThat(warnings()).isEmpty();
    }

    @Test
    void theActionOfAStageMayCloseItsTemplate() {
        LockTemplate patient = patient();
        assertTimeout(Duration.ofSeconds(20), () -> patient.executeStage(LockRequest.of("stock"), lease -> {
                    patient.close();
                    return CompletableFuture.completedFuture("done");
                })
                .exceptionally(lost -> "lost")
                .join());
        LockTemplate another = patient();
        assertTimeout(Duration.ofSeconds(20), () -> another.executeAsync(LockRequest.of("stock"), lease -> {
                    another.close();
                    return CompletableFuture.completedFuture("done");
                })
                .exceptionally(lost -> "lost")
                .join());
    }

    @Test
    void aThreadDoesNotWaitForAStageThatItIsInside() {
        LockTemplate patient = patient();
        CompletableFuture<LockLease> begun = new CompletableFuture<>();
        CompletableFuture<String> result = patient.executeStage(LockRequest.of("stock"), lease -> {
            begun.complete(lease);
            return new CompletableFuture<>();
        });
        LockLease stage = begun.join();

        CompletableFuture<Void> closed = CompletableFuture.runAsync(() -> {
            Runnable leave = LockContext.enterThread(stage);
            patient.close();
            leave.run();
        });

        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        assertThat(stage.isHeld()).isFalse();
        assertThat(result).isNotDone();
    }

    @Test
    void aThreadDoesNotWaitForALockThatItEnteredInAStage() {
        LockTemplate patient = patient();
        CompletableFuture<LockLease> begun = new CompletableFuture<>();
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = patient.executeStage(LockRequest.of("stock"), lease -> {
            begun.complete(lease);
            return work;
        });
        LockLease stage = begun.join();

        CompletableFuture<Void> closed = CompletableFuture.runAsync(() -> {
            Runnable leave = LockContext.enterThread(stage);
            patient.lock("stock").lock();
            leave.run();
            work.complete("done");
            result.join();
            patient.close();
        });

        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
    }

    private static void staysOpen(CompletableFuture<Void> closed) {
        Awaitility.await()
                .during(Duration.ofMillis(200))
                .atMost(Duration.ofSeconds(20))
                .until(() -> !closed.isDone());
    }

    @Test
    void aBodyMayLockOnInAnyFormWhileItsTemplateCloses() {
        LockTemplate patient = patient();
        CompletableFuture<Void> closed = patient.execute("stock", lease -> {
            CompletableFuture<Void> closing = closing(patient);
            patient.run("other", inner -> {});
            patient.acquireAsync(LockRequest.of("other"))
                    .thenAccept(LockLease::close)
                    .join();
            patient.executeAsync(LockRequest.of("other"), inner -> null).join();
            return closing;
        });
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
    }

    @Test
    void whoHoldsALeaseMayLockOnWhileTheTemplateCloses() {
        LockTemplate patient = patient();
        LockLease lease = patient.acquire("stock");
        CompletableFuture<Void> closed = closing(patient);
        patient.acquire("other").close();
        assertThat(closed).isNotDone();
        lease.close();
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
    }

    /** What it has not unlocked ended by itself long ago. */
    @Test
    void whoOwesAnUnlockOnlyIsRefusedWhileTheTemplateCloses() {
        LockTemplate patient = patient();
        DistributedLock lock = patient.lock("stock");
        lock.lock(Duration.ofMillis(100));
        Awaitility.await().until(() -> !lock.isHeldByCurrentThread());
        CompletableFuture<LockLease> held = patient.acquireAsync(LockRequest.of("orders"));
        Awaitility.await().until(held::isDone);
        CompletableFuture<Void> closed = closing(patient);

        assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> patient.acquire("other"));

        held.join().close();
        assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
    }

    @Test
    void aWorkerClosesATemplateAlsoWhereItsPoolHasNoThreadLeft() {
        LockTemplate patient = patient();
        LockLease held = patient.acquire("stock");
        ForkJoinPool full = new ForkJoinPool(
                1, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, false, 1, 1, 1, null, 1, TimeUnit.SECONDS);
        try {
            CompletableFuture<Void> closed = CompletableFuture.runAsync(patient::close, full);
            staysOpen(closed);
            held.close();
            assertThat(closed).succeedsWithin(Duration.ofSeconds(20));
        } finally {
            full.shutdownNow();
        }
    }

    private static LockTemplate patient() {
        return LockTemplate.builder(new MemoryLockStore())
                .shutdownWait(Duration.ofMinutes(5))
                .build();
    }

    /** As where an application ends itself because it lost its lock: on all threads that have commands to give. */
    @Test
    void listenersMayCloseWhereverTheyAreCalled() throws Exception {
        MemoryLockStore store = new MemoryLockStore();
        LockTemplate other = LockTemplate.builder(store.peer()).build();
        AtomicReference<LockTemplate> closed = new AtomicReference<>();
        CyclicBarrier both = new CyclicBarrier(2);
        CountDownLatch ended = new CountDownLatch(2);
        LockTemplate own = LockTemplate.builder(store)
                .shutdownWait(Duration.ofMillis(50))
                .listener(new LockListener() {
                    @Override
                    public void onLost(Lost event) {
                        try {
                            both.await(20, TimeUnit.SECONDS);
                        } catch (Exception unexpected) {
                            throw new IllegalStateException(unexpected);
                        }
                        closed.get().close();
                        ended.countDown();
                    }
                })
                .build();
        closed.set(own);
        own.acquire("one");
        own.acquire("two");
        LockLease left = own.acquire("left");
        other.acquire("wanted");
        CompletableFuture<LockLease> waiting = own.acquireAsync(LockRequest.of("wanted"));
        long begun = System.nanoTime();
        other.inspector().forceRelease("one");
        other.inspector().forceRelease("two");

        assertThat(ended.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(4));
        assertThat(left.isHeld()).isFalse();
        assertThat(waiting).isCompletedExceptionally();
        assertThat(other.inspector().status("left")).isEmpty();
        assertThat(other.inspector().status("wanted").orElseThrow().waiters()).isEmpty();
        other.close();
    }

    /** Closes a template on another thread; it refuses those who hold nothing when this returns. */
    private static CompletableFuture<Void> closing(LockTemplate template) {
        return closingAfter(template, () -> {});
    }

    /** Does something on the thread that then closes a template. */
    private static CompletableFuture<Void> closingAfter(LockTemplate template, Runnable first) {
        CompletableFuture<Void> closed = CompletableFuture.runAsync(() -> {
            first.run();
            template.close();
        });
        Awaitility.await().until(() -> CompletableFuture.runAsync(
                        () -> template.tryAcquire("refused").ifPresent(LockLease::close))
                .handle((done, failure) -> failure != null)
                .join());
        return closed;
    }

    @Test
    void anOrderlyEndIsSilent() {
        template.run("stock", lease -> {});
        template.close();
        assertThat(lines.list).isEmpty();
    }

    private List<String> warnings() {
        return lines.list.stream()
                .filter(line -> line.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }
}
