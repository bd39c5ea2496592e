/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.jfr;

import io.lockkeeper.LockException;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Writes events for the JDK Flight Recorder: {@code io.lockkeeper.LockWait}, {@code io.lockkeeper.LockHold} and
 * {@code io.lockkeeper.LockLost}. Nothing is kept while no recording wants them. What began before the recording is not in
 * it.
 */
public final class FlightRecorderListener implements LockListener {

    private final Map<Long, LockWaitEvent> waits = new ConcurrentHashMap<>();
    private final Map<Long, LockHoldEvent> holds = new ConcurrentHashMap<>();

    /** Creates a listener, to be given to the builder of a template. */
    public FlightRecorderListener() {}

    @Override
    public void onAsked(Asked event) {
        LockWaitEvent wait = new LockWaitEvent();
        if (wait.isEnabled()) {
            wait.names = names(event.request().names());
            wait.mode = word(event.request().mode());
            wait.label = event.request().label();
            wait.begin();
            waits.put(event.acquisition(), wait);
        }
    }

    @Override
    public void onAcquired(Acquired event) {
        if (!waits.isEmpty()) {
            LockWaitEvent wait = waits.get(event.acquisition());
            if (wait != null) {
                wait.way = word(event.way());
                wait.attempts = event.attempts();
                ended(event.acquisition(), "acquired");
            }
        }
        LockHoldEvent hold = new LockHoldEvent();
        if (hold.isEnabled()) {
            hold.names = names(event.request().names());
            hold.mode = word(event.request().mode());
            hold.label = event.request().label();
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
        LockWaitEvent wait = waits.isEmpty() ? null : waits.remove(acquisition);
        if (wait != null) {
            wait.outcome = outcome;
            wait.commit();
        }
    }

    @Override
    public void onDowngraded(Downgraded event) {
        LockHoldEvent hold = holds.isEmpty() ? null : holds.get(event.acquisition());
        if (hold != null) {
            hold.mode = word(event.after().mode());
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
        LockLostEvent lost = new LockLostEvent();
        if (lost.isEnabled()) {
            LockRequest request = event.request();
            lost.names = names(request.names());
            lost.mode = word(request.mode());
            lost.label = request.label();
            lost.fencingToken = event.loss().fencingToken();
            lost.reason = event.loss().reason();
            lost.heldFor = event.loss().heldFor().toNanos();
            lost.commit();
        }
    }

    private void over(long acquisition, String outcome) {
        LockHoldEvent hold = holds.isEmpty() ? null : holds.remove(acquisition);
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

    private static String names(List<String> names) {
        return String.join(",", names);
    }

    private static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
