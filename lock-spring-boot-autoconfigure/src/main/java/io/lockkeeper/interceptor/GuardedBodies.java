/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.LossPolicy;
import java.util.ArrayDeque;
import java.util.Deque;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** The bodies that run on the current thread and must not succeed when their lock is lost. */
public final class GuardedBodies {

    private static final ThreadLocal<@Nullable Deque<LossWatch>> BODIES = new ThreadLocal<>();

    private static final ThreadLocal<@Nullable Asking> ASKING = new ThreadLocal<>();

    private GuardedBodies() {}

    /**
     * A call of an annotated method that asks for its lock.
     *
     * @param spec what the method's annotation means
     * @param call the call
     */
    record Asking(MethodLockSpec spec, MethodInvocation call) {}

    /**
     * What the call that asks for a lock on this thread is to the transaction that is open.
     *
     * @param isGuarded whether the transaction must not commit when the lock is lost
     * @param hasOwnTransaction whether the method suspends the transaction, so that what it does itself is committed, or
     *     needs no commit, when the lock is released
     */
    public record Purpose(boolean isGuarded, boolean hasOwnTransaction) {

        private static final Purpose NONE = new Purpose(false, false);
    }

    /** Returns the purpose for which this thread asks for a lock, once for each call of an annotated method. */
    public static Purpose purpose() {
        Asking asking = ASKING.get();
        if (asking == null) {
            return Purpose.NONE;
        }
        ASKING.remove();
        return new Purpose(
                asking.spec.onLost() != LossPolicy.REPORT,
                asking.spec.suspendsTransaction() && MethodTransactions.isInside(asking.call));
    }

    /** A call asks for its lock on this thread, until it has been told or {@link #hasAsked} is called. */
    static void asks(MethodLockSpec spec, MethodInvocation call) {
        if (spec.onLost() != LossPolicy.REPORT || spec.suspendsTransaction()) {
            ASKING.set(new Asking(spec, call));
        }
    }

    /** A call has its lock, or none. */
    static void hasAsked(MethodLockSpec spec) {
        if (spec.onLost() != LossPolicy.REPORT || spec.suspendsTransaction()) {
            ASKING.remove();
        }
    }

    /**
     * Does nothing while the locks of all these bodies are held. To be called before what cannot be undone, such as the
     * commit of a transaction that began inside such a body.
     *
     * @throws io.lockkeeper.LockLostException if one of the locks is lost
     */
    public static void ensureHeld() {
        Deque<LossWatch> bodies = BODIES.get();
        if (bodies != null) {
            bodies.forEach(LossWatch::ensureHeld);
        }
    }

    static void enter(LossWatch body) {
        Deque<LossWatch> bodies = BODIES.get();
        if (bodies == null) {
            bodies = new ArrayDeque<>(2);
            BODIES.set(bodies);
        }
        bodies.addFirst(body);
    }

    static void leave() {
        Deque<LossWatch> bodies = BODIES.get();
        if (bodies == null) {
            return;
        }
        bodies.removeFirst();
        if (bodies.isEmpty()) {
            BODIES.remove();
        }
    }
}
