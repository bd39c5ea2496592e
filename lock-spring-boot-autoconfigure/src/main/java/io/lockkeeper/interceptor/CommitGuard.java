/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.LossPolicy;
import org.jspecify.annotations.Nullable;

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
     * @param hasOwnTransaction whether the method suspends the transaction, so that what it does itself is committed, or
     *     needs no commit, when the lock is released
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
        for (LeaseLoss body = BODY.get(); body != null; body = body.outer()) {
            body.ensureHeld();
        }
    }

    /** A call asks for its lock on this thread; null: it has its lock, or none. Calls that have no purpose do not matter. */
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
}
