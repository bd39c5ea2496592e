/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.store.GrantChannel;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Whether locks work, found out by looking: no lock is taken for it, and nothing is written. Takes the command timeout at
 * most.
 *
 * <ul>
 *   <li>DOWN: the store does not answer, so that no lock can be acquired; or renewals of held locks fail, so that they
 *       will be lost.
 *   <li>OUT_OF_SERVICE: grants do not arrive. Locks work, but callers who wait notice a free one only when they poll.
 *   <li>UP: everything else, also where no lock has been taken yet.
 * </ul>
 */
final class LockHealth {

    /** Nobody holds a lock of this name; it is only looked at. */
    private static final String PROBE = "lockkeeper:health";

    private final LockInspector inspector;
    private final RenewalWatch renewals;

    /** What was found, under the names that Spring Boot gives to it. */
    record Report(String status, Map<String, Object> details) {}

    LockHealth(LockInspector inspector, RenewalWatch renewals) {
        this.inspector = inspector;
        this.renewals = renewals;
    }

    Report look() {
        Map<String, Object> details = new LinkedHashMap<>();
        GrantChannel channel = inspector.grantChannel();
        if (channel.expected()) {
            Instant since = channel.since();
            details.put("grantsSince", since == null ? "not now" : since.toString());
        }
        long now = System.nanoTime();
        List<LockStatus> held = inspector.heldHere();
        int failing = renewals.failing(held, now);
        Instant renewed = renewals.lastRenewal();
        details.put("lastRenewal", renewed == null ? "never" : renewed.toString());
        details.put("failingRenewals", failing);
        details.put("held", held.size());
        details.put("waiting", inspector.waitingHere().size());
        String failure = failureOfStore();
        if (failure != null) {
            details.put("store", failure);
            return new Report("DOWN", details);
        }
        if (failing > 0) {
            return new Report("DOWN", details);
        }
        return new Report(channel.isDown() ? "OUT_OF_SERVICE" : "UP", details);
    }

    private @Nullable String failureOfStore() {
        try {
            inspector.status(PROBE);
            return null;
        } catch (LockStoreException failure) {
            // Without the name, of which nobody has heard.
            Throwable cause = failure.getCause();
            return String.valueOf((cause == null ? failure : cause).getMessage());
        }
    }
}
