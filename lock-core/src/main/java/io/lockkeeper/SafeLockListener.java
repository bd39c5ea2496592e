/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Several listeners as one that never throws. */
final class SafeLockListener implements LockListener {

    private static final Logger log = LoggerFactory.getLogger(LockListener.class);

    private static final long REPORT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final List<LockListener> listeners;
    private final Set<Class<?>> failed = ConcurrentHashMap.newKeySet();
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicLong nextReport = new AtomicLong(System.nanoTime() + REPORT_NANOS);

    SafeLockListener(List<LockListener> listeners) {
        this.listeners = listeners;
    }

    @Override
    public void onAsked(Asked event) {
        tell(listener -> listener.onAsked(event));
    }

    @Override
    public void onAcquired(Acquired event) {
        tell(listener -> listener.onAcquired(event));
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        tell(listener -> listener.onNotAcquired(event));
    }

    @Override
    public void onGivenUp(GivenUp event) {
        tell(listener -> listener.onGivenUp(event));
    }

    @Override
    public void onBodyBegins(Body event) {
        tell(listener -> listener.onBodyBegins(event));
    }

    @Override
    public void onBodyEnds(Body event) {
        tell(listener -> listener.onBodyEnds(event));
    }

    @Override
    public void onDowngraded(Downgraded event) {
        tell(listener -> listener.onDowngraded(event));
    }

    @Override
    public void onReleased(Released event) {
        tell(listener -> listener.onReleased(event));
    }

    @Override
    public void onLost(Lost event) {
        tell(listener -> listener.onLost(event));
    }

    @Override
    public void onRenewed(Renewed event) {
        tell(listener -> listener.onRenewed(event));
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        tell(listener -> listener.onRenewalFailed(event));
    }

    private void tell(Consumer<LockListener> event) {
        for (LockListener listener : listeners) {
            try {
                event.accept(listener);
            } catch (Throwable failure) {
                report(listener, failure);
            }
        }
    }

    private void report(LockListener listener, Throwable failure) {
        int count = failures.incrementAndGet();
        long now = System.nanoTime();
        long due = nextReport.get();
        // The first one of each at once; what fails at every event must not fill the log.
        if (!failed.add(listener.getClass()) && (due - now > 0 || !nextReport.compareAndSet(due, now + REPORT_NANOS))) {
            return;
        }
        try {
            log.warn(
                    "A lock listener of {} failed; {} failures of listeners so far, told at most once a minute",
                    listener.getClass(),
                    count,
                    failure);
        } catch (Throwable unsaid) {
            // Where there is no room for the listener there may be none for the log.
        }
    }
}
