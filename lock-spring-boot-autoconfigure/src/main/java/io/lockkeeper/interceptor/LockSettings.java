/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.annotation.DistributedLocked;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a method asks of its locks, whatever their names. Times that are null are left to the template. */
record LockSettings(
        LockMode mode,
        @Nullable Duration waitTime,
        @Nullable Duration leaseTime,
        int retryCount,
        @Nullable Duration retryDelay,
        Duration minHoldTime,
        String label) {

    private static final Duration MIN_LEASE = Duration.ofMillis(100);
    private static final Duration MIN_TIME = Duration.ofMillis(1);

    /** Reads the settings of a method; what is wrong goes to the faults, and counts as not set. */
    static LockSettings read(AnnotatedMethod method, String label, DurationAttributes durations, Faults faults) {
        DistributedLocked annotation = method.annotation();
        Duration waitTime = durations.read("waitTime", annotation.waitTime(), Duration.ZERO, faults);
        if (waitTime == null && annotation.skipWhenLocked()) {
            waitTime = Duration.ZERO;
        }
        Duration minHoldTime = durations.read("minHoldTime", annotation.minHoldTime(), Duration.ZERO, faults);
        if (annotation.retryCount() < 0) {
            faults.add(
                    "retryCount",
                    annotation.retryCount() + " is negative",
                    "Write the number of further attempts after the first, or leave it out");
        }
        return new LockSettings(
                annotation.mode(),
                waitTime,
                durations.read("leaseTime", annotation.leaseTime(), MIN_LEASE, faults),
                Math.max(0, annotation.retryCount()),
                durations.read("retryDelay", annotation.retryDelay(), MIN_TIME, faults),
                minHoldTime == null ? Duration.ZERO : minHoldTime,
                label);
    }

    /**
     * Asks for locks with these settings. One request is made for each call: the methods of {@link LockRequest} would
     * check and copy it for each setting, and cannot leave the delay of retries to the template.
     */
    LockRequest request(List<String> names) {
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }
}
