/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** What a lease needs from the engine that gave it. */
interface LeaseKeeper {

    TimeSource clock();

    /** Hears about releases and losses. */
    LockListener listener();

    /** Runs the callbacks of losses. */
    Executor callbacks();

    /** Runs commands that nobody waits for. */
    Executor background();

    /** Goes on with what an error interrupted. */
    Recovery recovery();

    /** Returns a new lease, which is kept until it is over. */
    HeldLease lease(LockRequest request, Tenure tenure);

    /** Begins to renew a hold. */
    void watch(Tenure tenure);

    /** Ends a hold. Returns what came of it, within the command timeout. */
    CompletableFuture<ReleaseResult> release(HeldLease lease);

    /** Makes a hold lost, if it is not over. */
    void lose(Tenure tenure, String reason);

    /** Asks the store whether a hold is still there. */
    boolean verify(HeldLease lease);

    /** Gives a hold a fixed end, that of one reader only where several share it; false: it is not there any more. */
    boolean extend(HeldLease lease, long leaseMillis);

    /** A lease is over, by release or by loss. */
    void over(HeldLease lease);
}
