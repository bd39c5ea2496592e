/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import io.lockkeeper.LockException;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.ReleaseResult;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Writes events for the JDK Flight Recorder: {@code io.lockkeeper.LockWait}, {@code io.lockkeeper.LockHold} and
 * {@code io.lockkeeper.LockLost}. Nothing is kept while no recording wants them. What began before the recording is not
 * in it.
 */
public final class FlightRecorderListener implements LockListener {

    private final Map<Long, LockEvent.Wait> waits = new ConcurrentHashMap<>();
    private final Map<Long, LockEvent.Hold> holds = new ConcurrentHashMap<>();

    /** Creates a listener, to be given to the builder of a template. */
    public FlightRecorderListener() {}

    @Override
    public void onAsked(Asked event) {
        LockEvent.Wait wait = new LockEvent.Wait();
        if (wait.isEnabled()) {
            wait.describe(event.request());
            wait.begin();
            waits.put(event.acquisition(), wait);
        }
    }

    @Override
    public void onAcquired(Acquired event) {
        if (!waits.isEmpty()) {
            LockEvent.Wait wait = waits.get(event.acquisition());
            if (wait != null) {
                wait.way = event.way().name().toLowerCase(Locale.ROOT);
                wait.attempts = event.attempts();
                ended(event.acquisition(), "acquired");
            }
        }
        LockEvent.Hold hold = new LockEvent.Hold();
        if (hold.isEnabled()) {
            hold.describe(event.request());
            hold.fencingToken = event.fencingToken();
            hold.begin();
            holds.put(event.acquisition(), hold);
        }
    }

    @Override
    public void onNotAcquired(NotAcquired event) {
        ended(event.acquisition(), reason(event.reason()));
    }

    @Override
    public void onGivenUp(GivenUp event) {
        ended(event.acquisition(), "given up");
    }

    private void ended(long acquisition, String outcome) {
        LockEvent.Wait wait = waits.isEmpty() ? null : waits.remove(acquisition);
        if (wait != null) {
            wait.outcome = outcome;
            wait.commit();
        }
    }

    @Override
    public void onDowngraded(Downgraded event) {
        LockEvent.Hold hold = holds.isEmpty() ? null : holds.get(event.acquisition());
        if (hold != null) {
            hold.mode(event.after().mode());
        }
    }

    @Override
    public void onReleased(Released event) {
        // A lost lease is told as such, before or after its release.
        if (event.result() != ReleaseResult.LOST) {
            over(event.acquisition(), event.result() == ReleaseResult.UNKNOWN ? "unknown" : "released");
        }
    }

    @Override
    public void onLost(Lost event) {
        over(event.acquisition(), "lost");
        LockEvent.Lost lost = new LockEvent.Lost();
        if (lost.isEnabled()) {
            lost.describe(event.request());
            lost.fencingToken = event.loss().fencingToken();
            lost.reason = event.loss().reason();
            lost.heldFor = event.loss().heldFor().toNanos();
            lost.commit();
        }
    }

    private void over(long acquisition, String outcome) {
        LockEvent.Hold hold = holds.isEmpty() ? null : holds.remove(acquisition);
        if (hold != null) {
            hold.outcome = outcome;
            hold.commit();
        }
    }

    private static String reason(LockException reason) {
        return reason instanceof LockNotAcquiredException
                ? "not acquired"
                : reason instanceof LockInterruptedException ? "interrupted" : "error";
    }
}
