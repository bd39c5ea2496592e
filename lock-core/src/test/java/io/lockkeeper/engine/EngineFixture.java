/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static io.lockkeeper.engine.RecordingStore.last;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockManager;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * An engine with everything around it in the hands of a test: the clocks, the timer, the threads, and the store's
 * answers.
 */
final class EngineFixture {

    static final int MAX_PASSES = 2;
    static final Duration MAX_PASS_TIME = Duration.ofMillis(50);
    static final long LEASE_MILLIS = 30_000;
    static final long GRANT_MILLIS = 3_000;

    /** The time for which a holder believes: 30 s less 1%. */
    static final Duration BELIEVED = Duration.ofMillis(29_700);

    /** Longer than any lock is waited for: without limit. */
    static final Duration FOREVER = Duration.ofDays(300 * 365);

    static final LockRequest REQUEST = LockRequest.of("stock").withWaitTime(FOREVER);

    static final AcquireSpec SPEC = new AcquireSpec(ClaimMode.EXCLUSIVE, LEASE_MILLIS, false, MAX_PASSES);

    private static final StoredInstance INSTANCE = StoredInstance.ofThisProcess(ClientIds.next(), "test", "");

    final ManualTime time = new ManualTime();
    final RecordingStore store = new RecordingStore();
    final Events events = new Events();

    /** Runs what never blocks: at once, unless a test lets it wait. */
    Executor background = Runnable::run;

    final EngineContext context = context(time, task -> background.execute(task), events);

    final LocalLockManager manager;

    /** The time of a test, except for what is overridden. */
    static class DelegatingScheduler implements Scheduler {

        private final Scheduler time;

        DelegatingScheduler(Scheduler time) {
            this.time = time;
        }

        @Override
        public long nanoTime() {
            return time.nanoTime();
        }

        @Override
        public long currentTimeMillis() {
            return time.currentTimeMillis();
        }

        @Override
        public Timeout schedule(Runnable task, long delayNanos) {
            return time.schedule(task, delayNanos);
        }
    }

    EngineFixture() {
        this(Duration.ZERO);
    }

    EngineFixture(Duration shutdownWait) {
        this(shutdownWait, RecordingStore.TRAITS.commandTimeout());
    }

    EngineFixture(Duration shutdownWait, Duration commandTimeout) {
        StoreTraits usual = RecordingStore.TRAITS;
        store.traits = new StoreTraits(commandTimeout, usual.pollInterval(), usual.grantTime(), usual.queues());
        manager = new LocalLockManager(store, settings(shutdownWait, events), context, INSTANCE);
    }

    static LocalLockManager manager(RecordingStore store, Events events, EngineContext context) {
        return new LocalLockManager(store, settings(Duration.ZERO, events), context, INSTANCE);
    }

    private static EngineContext context(ManualTime time, Executor background, Events events) {
        return new EngineContext(
                time, background, Runnable::run, Runnable::run, events, EngineContext::random, () -> {});
    }

    static LockManager.Settings settings(Duration shutdownWait, Events events) {
        return new LockManager.Settings(
                Duration.ofMillis(LEASE_MILLIS),
                MAX_PASSES,
                MAX_PASS_TIME,
                shutdownWait,
                "test",
                "",
                Runnable::run,
                events);
    }

    /** A caller asks, who holds nothing yet and goes on meanwhile. */
    PendingRequest begin(LockRequest request) {
        return begin(request, false);
    }

    PendingRequest begin(LockRequest request, boolean nested) {
        return begin(manager, request, nested, new CompletableFuture<>());
    }

    static PendingRequest begin(LocalLockManager manager, LockRequest request, CompletableFuture<?> result) {
        return begin(manager, request, false, result);
    }

    private static PendingRequest begin(
            LocalLockManager manager, LockRequest request, boolean nested, CompletableFuture<?> result) {
        PendingRequest asked = manager.asked(request, nested, result, 0);
        manager.begin(asked, 0);
        return asked;
    }

    /** A caller asks and has the lock at once. */
    ManagedLease holds(long firstToken) {
        return holds(REQUEST, firstToken);
    }

    ManagedLease holds(LockRequest request, long firstToken) {
        PendingRequest caller = begin(request);
        acquired(firstToken);
        return received(caller);
    }

    /** The caller has the lease, and listeners hear of it. */
    ManagedLease received(PendingRequest caller) {
        assertThat(caller).isCompleted();
        ManagedLease lease = caller.join();
        lease.received(caller.number, caller.asked, caller.tries, caller.path);
        return lease;
    }

    /** The store's last question is answered: the lock is free. */
    void acquired(long firstToken) {
        long leaseMillis = last(store.acquires).command().leaseMillis();
        last(store.acquires).answer(new AcquireReply.Acquired(leaseMillis, List.of(firstToken)));
    }

    static AcquireReply.Acquired acquiredReply(long firstToken) {
        return new AcquireReply.Acquired(LEASE_MILLIS, List.of(firstToken));
    }

    /** The store's last question is answered: another instance holds the lock. */
    void queued() {
        last(store.acquires).answer(new AcquireReply.Queued("other1", 20_000, storeMillis()));
    }

    /** The store's message comes that it is the turn of the last attempt that asked. */
    void granted(long firstToken) {
        manager.granted(grant(firstToken));
    }

    Grant grant(long firstToken) {
        String attempt = last(store.acquires).command().attempt();
        return new Grant(attempt, "stock", firstToken, storeMillis() + GRANT_MILLIS);
    }

    /** The store's clock, which is behind ours. */
    long storeMillis() {
        return storeMillis(time);
    }

    static long storeMillis(ManualTime time) {
        return TimeUnit.NANOSECONDS.toMillis(time.nanoTime()) - 1_000;
    }

    /** Nothing is held, and no one waits. */
    void assertEmpty() {
        assertThat(manager).hasToString("held=0, names=0");
    }

    static void assertFailure(CompletableFuture<?> caller, Class<? extends Throwable> type) {
        assertThat(caller).failsWithin(Duration.ZERO).withThrowableThat().withCauseInstanceOf(type);
    }
}
