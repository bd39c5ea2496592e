/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ToLongBiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * By how much the clocks of a cluster's masters differ. A record has the end of its hold by the clock of its master:
 * after the slot has moved to a master whose clock is ahead, the hold ends sooner than its holder believes. So a client
 * asks for leases that are longer by the largest difference, and believes in what it asked for without that.
 */
final class MasterClocks {

    private static final Logger log = LoggerFactory.getLogger(RedisLockStore.class);

    /** Half of the least margin between a holder's local deadline and its lease. */
    private static final long HARMLESS_MILLIS = 50;

    /** The first request may have to connect, and says little of the clock then. */
    private static final int TRIES = 3;

    private static final long EXACT_MILLIS = 10;

    /** The most that one wrong clock may prolong the lease of a crashed holder. */
    private static final long MOST_MILLIS = 5_000;

    private volatile long differenceMillis;
    private boolean warned;

    /** Returns the largest possible difference, in ms; 0: none that matters is known. */
    long differenceMillis() {
        return differenceMillis;
    }

    /**
     * Takes in the clocks of masters, all measured at the same time: after a pause of this process, or a step of all
     * clocks, they say nothing together with earlier ones.
     *
     * @param complete whether all masters have answered; else the difference does not become smaller
     */
    synchronized void measured(Collection<Offset> offsets, boolean complete) {
        List<Offset> each = List.copyOf(offsets);
        long most = Math.min(MOST_MILLIS, largest(each, (ahead, behind) -> ahead.most - behind.least));
        long now = most > HARMLESS_MILLIS ? most : 0;
        differenceMillis = complete ? now : Math.max(now, differenceMillis);
        long least = largest(each, (ahead, behind) -> ahead.least - behind.most);
        if (least > HARMLESS_MILLIS && !warned) {
            log.warn(
                    "The clocks of the cluster's masters differ by {} ms: let NTP set them. Redis keeps locks for so much longer"
                            + " than their leases until then, {} ms at most, because the move of a slot to a master whose"
                            + " clock is ahead shortens them.",
                    least,
                    MOST_MILLIS);
        }
        warned = least > HARMLESS_MILLIS || (warned && !complete);
    }

    private static long largest(List<Offset> offsets, ToLongBiFunction<Offset, Offset> difference) {
        long largest = 0;
        for (int i = 0; i < offsets.size(); i++) {
            for (int j = 0; j < i; j++) {
                largest = Math.max(largest, difference.applyAsLong(offsets.get(i), offsets.get(j)));
                largest = Math.max(largest, difference.applyAsLong(offsets.get(j), offsets.get(i)));
            }
        }
        return largest;
    }

    /** What the clock of a master shows beyond the monotonic clock of this process, in ms, at least and at most. */
    record Offset(long least, long most) {

        /** Asks a master for its time until the answer is exact enough, or for a few times. */
        static Offset measure(LongSupplier timeMillis) {
            Offset known = new Offset(Long.MIN_VALUE, Long.MAX_VALUE);
            for (int i = 0; i < TRIES && (i == 0 || known.most - known.least > EXACT_MILLIS); i++) {
                long asked = TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
                long time = timeMillis.getAsLong();
                long answered = TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
                known = new Offset(Math.max(known.least, time - answered - 1), Math.min(known.most, time - asked + 1));
            }
            return known;
        }
    }
}
