/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.annotation;

import io.lockkeeper.LockLostException;

/** What happens to a running method whose lock is lost. In every case the loss is logged and told to the listeners. */
public enum LossPolicy {

    /** The method goes on, and its result is returned. */
    REPORT,

    /**
     * The method goes on; when it has ended, or the stage or publisher that it returned, the caller gets a
     * {@link LockLostException} instead of the result. What the method failed with itself reaches the caller with the
     * loss suppressed in it. A transaction that began inside the lock rolls back instead of committing; that of a
     * reactive transaction manager does not, and should end with {@link io.lockkeeper.LockLease#ensureHeld()}.
     */
    FAIL,

    /**
     * The thread of the method is interrupted at once; a stage that it returned is completed with a
     * {@link LockLostException} unless others wait for it too, a publisher or coroutine is cancelled. The caller gets
     * the {@link LockLostException} instead of the result or of the interruption. A transaction that began inside the
     * lock rolls back instead of committing.
     */
    INTERRUPT
}
