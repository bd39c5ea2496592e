/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockedAction;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.annotation.LossPolicy;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/** What the transactions of the current thread must know of the calls of annotated methods on it. */
public final class CommitGuard {

    /** The innermost body that must not succeed when its lock is lost; it knows those around it. */
    static final ThreadLocal<@Nullable LeaseLoss> BODY = new ThreadLocal<>();

    private static final ThreadLocal<@Nullable LockedCall> ASKING = new ThreadLocal<>();

    private CommitGuard() {}

    /**
     * What the call that asks for a lock on this thread is to the transaction that is open.
     *
     * @param isGuarded whether the transaction must not commit when the lock is lost
     * @param hasOwnTransaction whether the method suspends the transaction, so that what it does itself is committed,
     *     or needs no commit, when the lock is released
     */
    public record Purpose(boolean isGuarded, boolean hasOwnTransaction) {

        private static final Purpose NONE = new Purpose(false, false);
    }

    /** Returns the purpose for which this thread asks for a lock, once for each call of an annotated method. */
    public static Purpose purpose() {
        LockedCall asking = ASKING.get();
        if (asking == null) {
            return Purpose.NONE;
        }
        ASKING.remove();
        MethodLockSpec spec = asking.spec();
        return new Purpose(
                spec.onLost() != LossPolicy.REPORT,
                spec.suspendsTransaction() && MethodTransactions.isInside(asking.invocation()));
    }

    /**
     * Does nothing while the locks of all these bodies are held. To be called before what cannot be undone, such as the
     * commit of a transaction that began inside such a body.
     *
     * @throws io.lockkeeper.LockLostException if one of the locks is lost
     */
    public static void ensureHeld() {
        for (LeaseLoss body = BODY.get(); body != null; body = body.outer) {
            body.ensureHeld();
        }
    }

    /**
     * Returns the configurable managers that tell listeners of each commit, at which transactions of one may end.
     *
     * @param manager a transaction manager, or a proxy of one
     * @return itself, or those in its fields
     */
    public static List<Object> telling(Object manager) {
        return MethodTransactions.telling(manager);
    }

    /**
     * Returns a transaction manager that asks whether the locks of its thread are held before another one commits.
     *
     * @param manager which may pass transactions on to any other one
     * @param declared the type by which it may be injected; any class stands for its own
     * @param beans where it is a bean
     * @return the manager itself where it asks already, or nothing can be put around it
     */
    public static Object guarded(Object manager, Class<?> declared, ConfigurableListableBeanFactory beans) {
        return MethodTransactions.guarded(manager, declared, new ProxyCheck(beans));
    }

    /** A call asks for its lock on this thread; null: it has its lock, or none. Others have no purpose. */
    static void asks(MethodLockSpec spec, @Nullable LockedCall call) {
        if (spec.onLost() == LossPolicy.REPORT && !spec.suspendsTransaction()) {
            return;
        }
        if (call == null) {
            ASKING.remove();
        } else {
            ASKING.set(call);
        }
    }

    /** Watches a body that must not succeed when its lock was lost meanwhile, and says whether it was. */
    static final class LeaseLoss {

        private static final int MAX_CAUSES = 32;

        private final LockLease lease;
        private final boolean interrupts;
        private final Thread thread = Thread.currentThread();
        private final @Nullable LeaseLoss outer = BODY.get();
        private boolean ended;
        private boolean interrupted;
        private volatile @Nullable LockLostException loss;

        LeaseLoss(LockLease lease, LossPolicy policy) {
            this.lease = lease;
            this.interrupts = policy == LossPolicy.INTERRUPT;
        }

        @Nullable
        Object run(LockedAction<@Nullable Object, Throwable> body) throws Throwable {
            boolean wasInterrupted = thread.isInterrupted();
            if (interrupts) {
                lease.onLost(this::lost);
            }
            BODY.set(this);
            try {
                Object result = body.run(lease);
                end(wasInterrupted);
                return result;
            } catch (Throwable failure) {
                throw outcome(failure, end(wasInterrupted));
            } finally {
                if (outer == null) {
                    BODY.remove();
                } else {
                    BODY.set(outer);
                }
            }
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

        /**
         * Returns the loss of the lease, as an exception of this thread; null where the lease is held, or was released
         * by the body itself.
         */
        @Nullable
        LockLostException loss() {
            if (loss == null && !lease.isHeld()) {
                try {
                    lease.ensureHeld();
                } catch (LockLostException notHeld) {
                    // A body that has released its lease itself has not lost it. The answer comes only once.
                    if (lease.release() == ReleaseResult.LOST) {
                        loss = notHeld;
                    }
                }
            }
            LockLostException known = loss;
            return known == null ? null : new LockLostException(known);
        }

        static void addTo(Throwable failure, @Nullable LockLostException lost) {
            if (lost != null
                    && !isIn(lost, failure)
                    && Arrays.stream(failure.getSuppressed()).noneMatch(each -> isIn(lost, each))) {
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
            return Stream.iterate(failure, Objects::nonNull, LeaseLoss::causeOf)
                    .limit(MAX_CAUSES)
                    .anyMatch(condition);
        }

        /** Returns null also where an exception of the user's cannot tell. */
        private static @Nullable Throwable causeOf(Throwable failure) {
            try {
                return failure.getCause();
            } catch (RuntimeException | Error unknown) {
                return null;
            }
        }
    }
}
