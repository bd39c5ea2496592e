/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets an exclusive holder go on as a reader: in the store its attempt ends and a reader's attempt begins, in one step that
 * nothing can come between. While the store does not answer, either of them may hold the lock there; the reader believes
 * until the deadline that the exclusive hold had, which is before the end of both.
 */
final class Downgrade {

    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final LockStore store;
    private final EngineContext context;
    private final StoreCalls calls;
    private final LeasePolicy policy;
    private final LeaseRegistry registry;
    private final ActionExecutor executor;
    private final LeaseRenewer renewer;
    private final Supplier<String> attemptIds;

    Downgrade(
            LockStore store,
            EngineContext context,
            StoreCalls calls,
            LeasePolicy policy,
            LeaseRegistry registry,
            ActionExecutor executor,
            LeaseRenewer renewer,
            Supplier<String> attemptIds) {
        this.store = store;
        this.context = context;
        this.calls = calls;
        this.policy = policy;
        this.registry = registry;
        this.executor = executor;
        this.renewer = renewer;
        this.attemptIds = attemptIds;
    }

    /**
     * Makes a reader of an exclusive holder, whose lease stays the same; it is held all the time, unless it is lost.
     *
     * @return completed when the store has answered, or at the latest when its answer is overdue
     */
    CompletableFuture<?> downgrade(ManagedLease lease) {
        StoreHold before = lease.hold();
        LocalLock lock = registry.lockOf(before.attempt);
        ClockReading now = context.now();
        StoreHold reader = new StoreHold(
                reading(before, now),
                attemptIds.get(),
                List.of(lease.fencingToken()),
                now,
                before.deadline(),
                before.fixedEnd());
        reader.unconfirmed = before.attempt;
        LocalLock readers = new LocalLock(reader, policy, attemptIds);
        boolean moved = lock != null
                && executor.on(lock, (known, present) -> {
                    if (!lease.isHeld() || known.hold() != before) {
                        return null;
                    }
                    registry.track(reader.attempt, readers);
                    lease.moveTo(reader);
                    return known.downgraded(before, present);
                });
        if (!moved) {
            return CompletableFuture.completedFuture(null);
        }
        registry.untrack(before.attempt);
        lease.downgraded();
        // Nothing else looks at the deadline until the store has answered.
        renewer.watchDeadline(reader);
        return tell(before, reader);
    }

    /** A hold with a fixed end keeps it, also where that was changed by an extension. */
    private static AcquireSpec reading(StoreHold before, ClockReading now) {
        AcquireSpec spec = before.spec;
        ClockReading end = before.fixedEnd();
        return end == null
                ? new AcquireSpec(spec.names(), ClaimMode.READ, spec.leaseMillis(), false, 0)
                : AcquireSpec.fixed(
                        spec.names(), ClaimMode.READ, TimeUnit.NANOSECONDS.toMillis(end.nanosFrom(now)) + 1);
    }

    private CompletableFuture<?> tell(StoreHold before, StoreHold reader) {
        ClockReading sent = context.now();
        HandOverCommand command =
                new HandOverCommand(before.attempt, before.token(), reader.spec.command(reader.attempt, true, 0), true);
        CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
        calls.send(() -> store.handOver(command), (reply, failure) -> {
            told(before, reader, sent, reply);
            told.complete(null);
        });
        return told;
    }

    private void told(StoreHold before, StoreHold reader, ClockReading sent, @Nullable HandOverReply reply) {
        ClockReading now = context.now();
        if (reader.isOver()) {
            // A command of the downgrade may still be on its way.
            executor.cancel(before.spec, before.attempt, reader.keepMillis(now), true, null);
            executor.cancel(reader.spec, reader.attempt, reader.keepMillis(now), true, null);
        } else if (reply == null && reader.isExpired(now)) {
            executor.lose(reader, "its lease ended before the store took the downgrade");
        } else if (reply == null) {
            context.scheduler().schedule(() -> context.background().execute(() -> tell(before, reader)), RETRY_NANOS);
        } else if (reply.next() instanceof AcquireReply.Acquired acquired) {
            reader.unconfirmed = null;
            reader.renewed(LeasePolicy.deadline(acquired.leaseMillis(), sent), sent, now);
            renewer.watch(reader);
        } else {
            executor.lose(reader, "the store says that it ended");
        }
    }
}
