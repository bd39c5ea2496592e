package io.lockkeeper.annotation;

import io.lockkeeper.LockLostException;

/** What happens to a running method whose lock is lost. In every case the loss is logged and told to the listeners. */
public enum LossPolicy {

    /** The method goes on, and its result is returned. */
    REPORT,

    /**
     * The method goes on; when it has returned, the caller gets a {@link LockLostException} instead of the result. A
     * transaction that began inside the lock rolls back instead of committing.
     */
    FAIL,

    /**
     * The thread of the method is interrupted at once; the caller gets a {@link LockLostException} instead of the result
     * or of the interruption. A transaction that began inside the lock rolls back instead of committing.
     */
    INTERRUPT
}
