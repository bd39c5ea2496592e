/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What goes on around an acquisition on the calling thread, such as a database transaction. It may refuse the
 * acquisition, and it may hold the lock on when its caller has released it. See
 * {@link LockTemplate.Builder#interceptor}.
 */
@FunctionalInterface
public interface AcquisitionInterceptor {

    /**
     * Asked on the calling thread before it asks for a lock in any form.
     *
     * @param request with the template's defaults filled in
     * @param reentry whether the thread holds all of the names already
     * @return receives a lease that holds the lock on, and closes it on any thread when the surrounding work has ended,
     *     at once if it has ended already; it must not throw. Null: the lock ends when its caller ends it
     * @throws RuntimeException to refuse; it reaches the caller unchanged
     */
    @Nullable
    Consumer<LockLease> beforeAcquisition(LockRequest request, boolean reentry);

    /**
     * Returns what surrounding work of this thread holds on at the moment; asked before each acquisition. The thread
     * enters these locks again, also where they were acquired for work that belongs to no thread, such as a stage. They
     * are leases that were received for work of this thread which has not ended; none unless overridden.
     */
    default Collection<LockLease> heldOn() {
        return List.of();
    }
}
