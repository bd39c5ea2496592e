/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.annotation.LossPolicy;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Watches a body that must not succeed when its lock was lost meanwhile, and says whether it was. */
final class LeaseLoss {

    private static final int MAX_CAUSES = 32;

    interface Body {
        @Nullable
        Object run() throws Throwable;
    }

    private final LockLease lease;
    private final boolean interrupts;
    private final Thread thread = Thread.currentThread();
    private final @Nullable LeaseLoss outer = CommitGuard.BODY.get();
    private boolean ended;
    private boolean interrupted;
    private @Nullable LockLostException loss;

    LeaseLoss(LockLease lease, LossPolicy policy) {
        this.lease = lease;
        this.interrupts = policy == LossPolicy.INTERRUPT;
    }

    @Nullable
    Object run(Body body) throws Throwable {
        boolean wasInterrupted = thread.isInterrupted();
        if (interrupts) {
            lease.onLost(this::lost);
        }
        CommitGuard.BODY.set(this);
        try {
            Object result = body.run();
            end(wasInterrupted);
            return result;
        } catch (Throwable failure) {
            throw outcome(failure, end(wasInterrupted));
        } finally {
            if (outer == null) {
                CommitGuard.BODY.remove();
            } else {
                CommitGuard.BODY.set(outer);
            }
        }
    }

    @Nullable
    LeaseLoss outer() {
        return outer;
    }

    void ensureHeld() {
        LockLostException lost = loss();
        if (lost != null) {
            throw lost;
        }
    }

    private synchronized void lost(LockLostException lost) {
        loss = lost;
        if (!ended) {
            interrupted = true;
            thread.interrupt();
        }
    }

    /** Ends the body; returns whether it was interrupted by us. From here on no interrupt comes from us. */
    private synchronized boolean end(boolean wasInterrupted) {
        ended = true;
        if (interrupted && !wasInterrupted) {
            Thread.interrupted();
        }
        return interrupted;
    }

    private Throwable outcome(Throwable failure, boolean interruptedByUs) {
        LockLostException lost = loss();
        if (lost != null && interruptedByUs && !isIn(lost, failure) && isAny(failure, LeaseLoss::isInterruption)) {
            lost.addSuppressed(failure);
            return lost;
        }
        addTo(failure, lost);
        return failure;
    }

    private @Nullable LockLostException loss() {
        synchronized (this) {
            if (loss != null) {
                return loss;
            }
        }
        LockLostException found = of(lease);
        synchronized (this) {
            // The answer to the release comes only once.
            loss = loss == null ? found : loss;
            return loss;
        }
    }

    /** Returns the loss of a lease; null where it is held, or was released by the body itself. */
    static @Nullable LockLostException of(LockLease lease) {
        if (lease.isHeld()) {
            return null;
        }
        try {
            lease.ensureHeld();
            return null;
        } catch (LockLostException notHeld) {
            // A body that has released its lease itself has not lost it.
            return lease.release() == ReleaseResult.LOST ? notHeld : null;
        }
    }

    static void addTo(Throwable failure, @Nullable LockLostException lost) {
        if (lost != null && !isIn(lost, failure)) {
            failure.addSuppressed(lost);
        }
    }

    /** Returns whether a failure tells of a loss: each look at a lost lease makes an exception of its own. */
    private static boolean isIn(LockLostException lost, Throwable failure) {
        return isAny(
                failure,
                cause -> cause instanceof LockLostException known
                        && known.fencingToken() == lost.fencingToken()
                        && known.name().equals(lost.name()));
    }

    private static boolean isInterruption(Throwable cause) {
        return cause instanceof InterruptedException
                || cause instanceof LockInterruptedException
                || cause instanceof ClosedByInterruptException
                || (cause instanceof InterruptedIOException && !(cause instanceof SocketTimeoutException));
    }

    private static boolean isAny(Throwable failure, Predicate<Throwable> condition) {
        return Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .anyMatch(condition);
    }
}
