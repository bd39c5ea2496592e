/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

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
}
