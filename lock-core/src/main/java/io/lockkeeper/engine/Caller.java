/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockException;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** One caller who asks for a lock. One of the methods is called, once, when it has its answer. */
final class Caller {

    final long number;
    final LockRequest request;
    private final Callers callers;
    private final Moment asked;

    Caller(Callers callers, long number, LockRequest request) {
        this.callers = callers;
        this.number = number;
        this.request = request;
        this.asked = callers.clock().now();
    }

    Duration waited() {
        return asked.until(callers.clock());
    }

    void acquired(HeldLease lease) {
        callers.answered(this);
        lease.received(number, waited());
    }

    /** Returns what the caller is told. */
    LockException failed(@Nullable Throwable failure) {
        Throwable cause = failure instanceof ExecutionException || failure instanceof CompletionException
                ? failure.getCause()
                : failure;
        LockException reason = cause instanceof LockException known
                ? known
                : new LockStoreException("Lock '" + String.join("', '", request.names()) + "': " + why(cause), cause);
        // The stack that helps is that of the caller, not that of the timer or of the store's thread.
        reason.fillInStackTrace();
        callers.answered(this);
        callers.listener().onNotAcquired(new LockListener.NotAcquired(number, request, waited(), reason));
        return reason;
    }

    private static String why(@Nullable Throwable cause) {
        return cause instanceof StoreException known ? String.valueOf(known.getMessage()) : String.valueOf(cause);
    }

    void gaveUp() {
        callers.answered(this);
        callers.listener().onGivenUp(new LockListener.GivenUp(number, request, waited()));
    }
}
