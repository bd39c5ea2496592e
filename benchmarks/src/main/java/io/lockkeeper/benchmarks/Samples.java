/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What one thread counted: all acquisitions, and the times of those of them that there is room for. */
final class Samples {

    private static final int KEPT = 1 << 14;

    private final long[] waits = new long[KEPT];
    private final long[] handovers = new long[KEPT];
    private int count;
    private int handoverCount;

    /** Later samples take the place of earlier ones. */
    void waited(long nanos) {
        waits[count++ % KEPT] = nanos;
    }

    void handedOver(long nanos) {
        handovers[handoverCount++ % KEPT] = nanos;
    }

    int count() {
        return count;
    }

    long[] waits() {
        return Arrays.copyOf(waits, Math.min(count, KEPT));
    }

    long[] handovers() {
        return Arrays.copyOf(handovers, Math.min(handoverCount, KEPT));
    }

    /** Returns evenly chosen ones of all sorted samples: quantiles. */
    static String told(List<long[]> samples, int limit) {
        long[] all = samples.stream().flatMapToLong(Arrays::stream).sorted().toArray();
        int told = Math.min(limit, all.length);
        return IntStream.range(0, told)
                .mapToObj(i -> "" + all[told == all.length ? i : (int) ((long) i * (all.length - 1) / (told - 1))])
                .collect(Collectors.joining(","));
    }
}
