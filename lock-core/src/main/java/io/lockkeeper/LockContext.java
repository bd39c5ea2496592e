/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.Optional;

/** The lease under which the current thread runs, for code that has no access to the lease itself. */
public final class LockContext {

    /** The leases under which a thread runs, the innermost last. */
    private static final ThreadLocal<List<LockLease>> RUNNING = ThreadLocal.withInitial(List::of);

    private LockContext() {}

    /** Returns the innermost lease under which this thread runs; empty outside a locked body. */
    public static Optional<LockLease> current() {
        List<LockLease> running = RUNNING.get();
        return running.isEmpty() ? Optional.empty() : Optional.of(running.get(running.size() - 1));
    }

    /**
     * Returns the innermost lease under which this thread runs.
     *
     * @throws IllegalStateException if this thread runs under none
     */
    public static LockLease require() {
        return current()
                .orElseThrow(() -> new IllegalStateException("No lock is held through an annotation or a template here."
                        + " The usual cause is self-invocation: a method with @DistributedLocked was called by another method"
                        + " of the same bean, so that the call did not pass through the bean's proxy. Another: this continues a"
                        + " stage or is an operator of a publisher, which no thread is inside of; a publisher has its"
                        + " lease in the Reactor context, under LockLease.class."));
    }

    /**
     * Puts this thread under a lease, for work that continues on another thread than the one on which it began, such as
     * a coroutine: the lease becomes the current one, and where it came from {@code executeStage}, {@code executeUntil}
     * or an annotated method, the thread enters its locks again as if it had acquired them.
     *
     * @param lease the lease, which the caller keeps from ending meanwhile
     * @return takes the thread out again; to be called on the same thread, in the reverse order
     */
    public static Runnable enterThread(LockLease lease) {
        Runnable takeOut = lease instanceof NestedLease level ? level.enterThread() : () -> {};
        Runnable leave = enter(lease);
        return () -> {
            leave.run();
            takeOut.run();
        };
    }

    /** Makes a lease the current one of this thread, until the result is called on it. */
    static Runnable enter(LockLease lease) {
        RUNNING.set(LockOwner.plus(RUNNING.get(), lease));
        // Not removed at the end: an empty list keeps nothing, and the next lease finds its place. One that is left in
        // the wrong order must not come back.
        return () -> RUNNING.set(LockOwner.minus(RUNNING.get(), lease));
    }
}
