/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The lease under which the current thread runs, for code that has no access to the lease itself. */
public final class LockContext {

    private static final ThreadLocal<@Nullable Deque<LockLease>> LEASES = new ThreadLocal<>();

    private LockContext() {}

    /** Returns the innermost lease under which this thread runs; empty outside a locked body. */
    public static Optional<LockLease> current() {
        Deque<LockLease> leases = LEASES.get();
        return leases == null ? Optional.empty() : Optional.of(leases.getFirst());
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
     * Puts this thread under a lease, for work that continues on another thread than the one on which it began, such as a
     * coroutine: the lease becomes the current one, and where it came from {@code executeStage}, {@code executeUntil} or
     * an annotated method, the thread enters its locks again as if it had acquired them.
     *
     * @param lease the lease, which the caller keeps from ending meanwhile
     * @return takes the thread out again; to be called on the same thread, in the reverse order
     */
    public static Runnable enterThread(LockLease lease) {
        Runnable leave = lease instanceof EnteredLease level ? level.enterThread() : () -> {};
        enter(lease);
        return () -> {
            leave();
            leave.run();
        };
    }

    static void enter(LockLease lease) {
        Deque<LockLease> leases = LEASES.get();
        if (leases == null) {
            leases = new ArrayDeque<>(2);
            LEASES.set(leases);
        }
        leases.addFirst(lease);
    }

    static void leave() {
        Deque<LockLease> leases = LEASES.get();
        if (leases == null) {
            return;
        }
        leases.removeFirst();
        if (leases.isEmpty()) {
            LEASES.remove();
        }
    }
}
