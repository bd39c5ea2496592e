/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.lang.StackWalker.StackFrame;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A lease in the hands of a caller, who is to release it: a forgotten one is logged, with where it was acquired. */
final class AcquiredLease extends DelegatingLease {

    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
    private static final int LOOKS_AT_ONCE = 500;
    private static final AtomicLong LOOKS = new AtomicLong(System.nanoTime() - LOOKS_AT_ONCE * LOOK_NANOS);

    /** What stands on the stack between here and a caller. */
    private static final Set<Class<?>> OWN =
            Set.of(AcquiredLease.class, ReentrantHolds.class, LockTemplate.class, LockOperations.class);

    private final LockManager.Lease lease;

    private AcquiredLease(LockRequest request, LockManager.Lease lease, @Nullable StackFrame caller) {
        super(request);
        this.lease = lease;
        lease.reportIfForgotten(this, caller);
    }

    /** A lease to come: the thread that waits for it is the one that has it, and may close the template. */
    static final class ToCome extends CompletableFuture<LockLease> {

        @Override
        public LockLease get() throws InterruptedException, ExecutionException {
            return receivedHere(super.get());
        }

        @Override
        public LockLease get(long timeout, TimeUnit unit)
                throws InterruptedException, ExecutionException, TimeoutException {
            return receivedHere(super.get(timeout, unit));
        }

        @Override
        public LockLease join() {
            return receivedHere(super.join());
        }

        private static LockLease receivedHere(LockLease received) {
            if (received instanceof AcquiredLease acquired) {
                acquired.lease.receivedHere();
            }
            return received;
        }
    }

    /** Returns what makes a caller's lease of one that this thread acquires now. */
    static Function<LockManager.Lease, LockLease> ofThisCaller(LockRequest request) {
        StackFrame caller = isLookDue() ? caller() : null;
        return lease ->
                lease instanceof UnlockedManager.UnlockedLease ? lease : new AcquiredLease(request, lease, caller);
    }

    /** A look at the stack takes longer than all else here: often enough that no place stays unnamed for long. */
    private static boolean isLookDue() {
        long now = System.nanoTime();
        long before = LOOKS.get();
        long next = Math.max(before, now - LOOKS_AT_ONCE * LOOK_NANOS) + LOOK_NANOS;
        return next <= now && LOOKS.compareAndSet(before, next);
    }

    private static @Nullable StackFrame caller() {
        return STACK.walk(frames -> frames.filter(
                        frame -> !OWN.contains(frame.getDeclaringClass().getNestHost()))
                .findFirst()
                .orElse(null));
    }

    @Override
    List<LockManager.Lease> leases() {
        return List.of(lease);
    }

    @Override
    public void giveBack() {
        lease.giveBack();
    }

    @Override
    public ReleaseResult release() {
        try {
            return lease.release();
        } finally {
            // Or it might count as forgotten while it is released.
            Reference.reachabilityFence(this);
        }
    }
}
