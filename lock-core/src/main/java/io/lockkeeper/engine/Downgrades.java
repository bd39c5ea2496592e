/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Lets an exclusive holder go on as a reader: in the store its attempt ends and a reader's attempt begins, in one step that
 * nobody can come between. While the store does not answer, either of them may hold the lock there; the reader believes
 * until the deadline that the exclusive hold had, which is before the end of both.
 */
final class Downgrades {

    private static final long RETRY_MILLIS = 200;

    private final LockStore store;
    private final CohortPort port;
    private final CohortTimes times;
    private final LeaseKeeper keeper;
    private final Scheduler scheduler;
    private final Executor background;

    Downgrades(
            LockStore store,
            CohortPort port,
            CohortTimes times,
            LeaseKeeper keeper,
            Scheduler scheduler,
            Executor background) {
        this.store = store;
        this.port = port;
        this.times = times;
        this.keeper = keeper;
        this.scheduler = scheduler;
        this.background = background;
    }

    /**
     * Makes a reader of an exclusive holder; waits for the store's answer, at most the command timeout.
     *
     * @return the reader's lease; the same lease where it was lost
     */
    HeldLease downgrade(HeldLease exclusive) {
        Tenure before = exclusive.tenure();
        Claim claim = reading(before);
        Cohort cohort = Cohort.holding(claim, port, times, background);
        Tenure reader = new Tenure(
                cohort,
                port.nextAttempt().id,
                List.of(exclusive.fencingToken()),
                keeper.clock().now(),
                before.deadline(),
                before.fixedEnd());
        if (!exclusive.isHeld() || !before.cohort.leaveToReader(exclusive)) {
            return exclusive;
        }
        HeldLease lease = cohort.adopt(reader, exclusive.request().withMode(LockMode.READ));
        reader.begunAfter(before);
        exclusive.becomes(lease);
        // Nobody else looks at the deadline until the store has answered.
        scheduler.schedule(lease::isHeld, reader.deadline().nanosFrom(keeper.clock()));
        tell(before, reader).join();
        return lease;
    }

    /** A hold with a fixed end keeps it, also where that was changed by an extension. */
    private Claim reading(Tenure before) {
        Moment end = before.fixedEnd();
        long lease = before.claim.leaseMillis();
        if (end != null) {
            long remaining = TimeUnit.NANOSECONDS.toMillis(end.nanosFrom(keeper.clock())) + 1;
            lease = remaining + Claim.marginMillis(remaining);
        }
        return new Claim(before.claim.names(), ClaimMode.READ, lease, end != null, 0);
    }

    /** Ends a hold; one that began as a downgrade of which nothing was heard yet ends under both of its attempts. */
    static CompletableFuture<Boolean> release(CohortPort port, Tenure ended, long lastToken, long keepMillis) {
        CompletableFuture<Boolean> own = port.release(ended, lastToken, keepMillis);
        Tenure before = ended.unconfirmed();
        return before == null
                ? own
                : port.release(before, 0, keepMillis)
                        .thenCombine(own, (wasHeldBefore, wasHeld) -> wasHeldBefore || wasHeld);
    }

    private CompletableFuture<?> tell(Tenure before, Tenure reader) {
        Moment sent = keeper.clock().now();
        HandOverCommand command = new HandOverCommand(
                before.attempt, before.token(), reader.claim.command(reader.attempt, true, 0), true);
        CompletableFuture<@Nullable Void> told = new CompletableFuture<>();
        keeper.recovery().ask(() -> store.handOver(command), reader.claim.leaseMillis(), (reply, failure) -> {
            told(before, reader, sent, reply);
            told.complete(null);
        });
        return told;
    }

    private void told(Tenure before, Tenure reader, Moment sent, @Nullable HandOverReply reply) {
        if (reader.isOver()) {
            // A command of the downgrade may still be on its way.
            port.abandon(
                    before.cohort, new Attempt(before.attempt, keeper.clock().now()));
            port.abandon(
                    reader.cohort, new Attempt(reader.attempt, keeper.clock().now()));
        } else if (reply == null && reader.deadline().hasPassed(keeper.clock())) {
            keeper.lose(reader, "its lease ended before the store took the downgrade");
        } else if (reply == null) {
            scheduler.schedule(
                    () -> background.execute(() -> tell(before, reader)), TimeUnit.MILLISECONDS.toNanos(RETRY_MILLIS));
        } else if (reply.next() instanceof AcquireReply.Acquired acquired) {
            reader.begunAfter(null);
            reader.renewed(times.deadline(acquired.leaseMillis(), sent), sent);
            port.watch(reader);
        } else {
            keeper.lose(reader, "the store says that it ended");
        }
    }
}
