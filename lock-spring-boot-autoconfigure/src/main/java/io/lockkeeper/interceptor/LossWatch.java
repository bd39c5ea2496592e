/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.LossPolicy;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** Runs a body that must not succeed when its lock was lost meanwhile. */
final class LossWatch {

    private static final int MAX_CAUSES = 32;

    /** What runs under the watch. */
    interface Body {
        @Nullable
        Object run() throws Throwable;
    }

    private final LockLease lease;
    private final boolean interrupts;
    private final Thread thread = Thread.currentThread();
    private boolean ended;
    private boolean interrupted;
    private @Nullable LockLostException loss;

    LossWatch(LockLease lease, LossPolicy policy) {
        this.lease = lease;
        this.interrupts = policy == LossPolicy.INTERRUPT;
    }

    /**
     * Runs the body on this thread.
     *
     * @param body the call that goes on
     * @return what it returns
     * @throws Throwable what it throws, with the loss added to it where there was one
     * @throws LockLostException if the lock was lost and the body has returned, or failed because of our interruption
     */
    @Nullable
    Object run(MethodInvocation body) throws Throwable {
        Object result = begin(body::proceed);
        ensureHeld();
        return result;
    }

    /**
     * Runs the beginning of a body on this thread; how the body ends is not yet known when it returns.
     *
     * @param body the beginning
     * @return what it returns, whether the lock was lost or not
     * @throws Throwable as {@link #run}
     */
    @Nullable
    Object begin(Body body) throws Throwable {
        boolean wasInterrupted = thread.isInterrupted();
        if (interrupts) {
            lease.onLost(this::lost);
        }
        Object result;
        GuardedBodies.enter(this);
        try {
            result = body.run();
        } catch (Throwable failure) {
            throw outcome(failure, end(wasInterrupted));
        } finally {
            GuardedBodies.leave();
        }
        end(wasInterrupted);
        return result;
    }

    /**
     * Does nothing while the lock is held, or was released by the body itself.
     *
     * @throws LockLostException if it is lost
     */
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
        if (lost == null || Losses.isIn(lost, failure)) {
            return failure;
        }
        if (interruptedByUs && isInterruption(failure)) {
            lost.addSuppressed(failure);
            return lost;
        }
        failure.addSuppressed(lost);
        return failure;
    }

    private @Nullable LockLostException loss() {
        synchronized (this) {
            if (loss != null) {
                return loss;
            }
        }
        LockLostException found = Losses.of(lease);
        synchronized (this) {
            // The answer to the release comes only once.
            loss = loss == null ? found : loss;
            return loss;
        }
    }

    private static boolean isInterruption(Throwable failure) {
        Throwable cause = failure;
        for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
            if (cause instanceof InterruptedException
                    || cause instanceof LockInterruptedException
                    || cause instanceof ClosedByInterruptException
                    || (cause instanceof InterruptedIOException && !(cause instanceof SocketTimeoutException))) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }
}
