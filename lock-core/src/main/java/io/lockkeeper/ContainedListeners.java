/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Several listeners as one that never throws. */
final class ContainedListeners implements LockListener {

    private static final Logger log = LoggerFactory.getLogger(LockListener.class);

    private final List<LockListener> listeners;

    ContainedListeners(List<LockListener> listeners) {
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

    private static void report(LockListener listener, Throwable failure) {
        try {
            log.warn("A lock listener of {} failed", listener.getClass(), failure);
        } catch (Throwable alsoFailed) {
            // Where there is no room for the listener there may be none for the log.
            failure.addSuppressed(alsoFailed);
        }
    }
}
