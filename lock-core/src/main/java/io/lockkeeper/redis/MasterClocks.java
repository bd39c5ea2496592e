/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ToLongBiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * By how much the clocks of a cluster's masters differ. A record has the end of its hold by the clock of its master: after
 * the slot has moved to a master whose clock is ahead, the hold ends sooner than its holder believes. So a client asks for
 * leases that are longer by the largest difference, and believes in what it asked for without that.
 */
final class MasterClocks {

    private static final Logger log = LoggerFactory.getLogger(RedisLockStore.class);

    /** Half the margin of a holder, who believes 100 ms less than its lease at least. */
    private static final long HARMLESS_MILLIS = 50;

    /** The first request may have to connect, and says little of the clock then. */
    private static final int TRIES = 3;

    private static final long EXACT_MILLIS = 10;

    private final Map<String, Offset> offsets = new ConcurrentHashMap<>();
    private volatile long differenceMillis;
    private boolean warned;

    /** Returns the largest difference that there may be, in ms; 0: it is known of none that matters. */
    long differenceMillis() {
        return differenceMillis;
    }

    /**
     * Takes in the clock of a master. One that does not answer has the clock that it had before.
     *
     * @param masters the names of all
     */
    synchronized void measured(Set<String> masters, String master, Offset offset) {
        offsets.put(master, offset);
        offsets.keySet().retainAll(masters);
        long most = largest((ahead, behind) -> ahead.most - behind.least);
        differenceMillis = most > HARMLESS_MILLIS ? most : 0;
        long least = largest((ahead, behind) -> ahead.least - behind.most);
        if (least > HARMLESS_MILLIS && !warned) {
            log.warn(
                    "The clocks of the cluster's masters differ by {} ms: let NTP set them. Redis keeps locks for so much longer"
                            + " than their leases until then, because the move of a slot to a master whose clock is ahead"
                            + " shortens them.",
                    least);
        }
        warned = least > HARMLESS_MILLIS;
    }

    private long largest(ToLongBiFunction<Offset, Offset> difference) {
        return offsets.values().stream()
                .flatMapToLong(one -> offsets.values().stream()
                        .filter(other -> !other.equals(one))
                        .mapToLong(other -> difference.applyAsLong(one, other)))
                .max()
                .orElse(0);
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
