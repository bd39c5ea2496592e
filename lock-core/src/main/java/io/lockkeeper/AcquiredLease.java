/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.lang.StackWalker.StackFrame;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A lease in the hands of a caller, who is to release it: one that is forgotten is logged, with where it was acquired. */
final class AcquiredLease implements LockLease {

    private static final Cleaner CLEANER = Cleaner.create();
    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    /** What stands on the stack between here and a caller. */
    private static final Set<Class<?>> OWN =
            Set.of(AcquiredLease.class, LockEntrance.class, LockTemplate.class, UnlockedOperations.class);

    private final LockManager.Lease lease;
    private final Handle handle;

    private AcquiredLease(LockManager.Lease lease, @Nullable StackFrame caller) {
        this.lease = lease;
        this.handle = new Handle(lease, caller);
        this.handle.registration = CLEANER.register(this, handle);
    }

    /** Returns what makes a caller's lease of one that this thread acquires now. */
    static Function<LockManager.Lease, LockLease> ofThisCaller() {
        StackFrame caller = STACK.walk(frames -> frames.filter(
                        frame -> !OWN.contains(frame.getDeclaringClass().getNestHost()))
                .findFirst()
                .orElse(null));
        return lease -> lease instanceof UnlockedLease ? lease : new AcquiredLease(lease, caller);
    }

    /** What is left of a lease when its caller has forgotten it. */
    private static final class Handle implements Runnable {

        private static final Logger log = LoggerFactory.getLogger(LockLease.class);

        private final LockManager.Lease lease;
        private final @Nullable StackFrame caller;
        private volatile boolean released;
        private volatile Cleaner.@Nullable Cleanable registration;

        Handle(LockManager.Lease lease, @Nullable StackFrame caller) {
            this.lease = lease;
            this.caller = caller;
        }

        void released() {
            released = true;
            Cleaner.Cleanable known = registration;
            if (known != null) {
                known.clean();
            }
        }

        @Override
        public void run() {
            if (!released && lease.isHeld()) {
                log.warn(
                        "The lease of lock {} was collected as garbage without a release, and {}. Release it in a finally"
                                + " block, or with try-with-resources. It was acquired at {}",
                        lease.names(),
                        lease.isFixed() ? "is held until its lease time is over" : "is renewed until the process ends",
                        caller);
            }
        }
    }

    @Override
    public String name() {
        return lease.name();
    }

    @Override
    public List<String> names() {
        return lease.names();
    }

    @Override
    public LockMode mode() {
        return lease.mode();
    }

    @Override
    public long fencingToken() {
        return lease.fencingToken();
    }

    @Override
    public long fencingToken(String name) {
        return lease.fencingToken(name);
    }

    @Override
    public boolean isHeld() {
        return lease.isHeld();
    }

    @Override
    public Duration remaining() {
        return lease.remaining();
    }

    @Override
    public void ensureHeld() {
        lease.ensureHeld();
    }

    @Override
    public boolean verify() {
        return lease.verify();
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return lease.extend(leaseTime);
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        return lease.extend(leaseTime, minHoldTime);
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        lease.onLost(callback);
    }

    @Override
    public ReleaseResult release() {
        handle.released();
        return lease.release();
    }

    @Override
    public void close() {
        handle.released();
        lease.close();
    }

    @Override
    public String toString() {
        return lease.toString();
    }
}
