/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warns of renewals that fail: a line now and then, however many locks one failing server costs their renewals. */
final class RenewalWarnings {

    private static final Logger log = LoggerFactory.getLogger(Watchdog.class);
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final TimeSource clock;
    private boolean warned;
    private long lastWarning;
    private int unsaid;

    RenewalWarnings(TimeSource clock) {
        this.clock = clock;
    }

    void failed(String name, Duration remaining, Throwable failure) {
        int others;
        synchronized (this) {
            long now = clock.nanoTime();
            if (warned && now - lastWarning < PAUSE_NANOS) {
                unsaid++;
                log.debug("Renewal of lock '{}' failed: {}", name, failure.getMessage());
                return;
            }
            warned = true;
            lastWarning = now;
            others = unsaid;
            unsaid = 0;
        }
        log.warn(
                "Renewal of lock '{}' failed, {} ms before its end, and is tried again ({} other failures since the last"
                        + " such line): {}",
                name,
                remaining.toMillis(),
                others,
                failure.getMessage());
    }
}
