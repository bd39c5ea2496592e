/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What one peer did in one round.
 *
 * @param perSecond acquisitions in a second
 * @param serverMicros CPU time of Redis for each acquisition
 * @param clientMicros CPU time of all JVMs for each acquisition
 * @param waits sorted times from asking to having, in ns
 * @param handovers sorted times from one JVM's release to the next one's having, in ns
 * @param jain how evenly the threads were served: 1 is even, 1/n is one thread only
 */
record Outcome(
        double perSecond, double serverMicros, double clientMicros, long[] waits, long[] handovers, double jain) {

    /** Reads what the workers of one peer answered. */
    static Outcome of(List<String> answers, long serverNanos) {
        List<Long> counts = new ArrayList<>();
        List<Long> waits = new ArrayList<>();
        List<Long> handovers = new ArrayList<>();
        double perSecond = 0;
        long cpu = 0;
        for (String answer : answers) {
            List<Long> own = numbers(answer, "counts");
            counts.addAll(own);
            waits.addAll(numbers(answer, "waits"));
            handovers.addAll(numbers(answer, "handovers"));
            cpu += numbers(answer, "cpu").get(0);
            perSecond += sum(own) * 1e9 / numbers(answer, "nanos").get(0);
        }
        double acquisitions = Math.max(1, sum(counts));
        double squares =
                counts.stream().mapToDouble(count -> (double) count * count).sum();
        return new Outcome(
                perSecond,
                serverNanos / 1e3 / acquisitions,
                cpu / 1e3 / acquisitions,
                waits.stream().mapToLong(Long::longValue).sorted().toArray(),
                handovers.stream().mapToLong(Long::longValue).sorted().toArray(),
                acquisitions * acquisitions / (counts.size() * Math.max(1, squares)));
    }

    private static long sum(List<Long> counts) {
        return counts.stream().mapToLong(Long::longValue).sum();
    }

    private static List<Long> numbers(String answer, String key) {
        return Arrays.stream(answer.split(" "))
                .filter(part -> part.startsWith(key + "="))
                .flatMap(part -> Arrays.stream(part.substring(key.length() + 1).split(",")))
                .filter(number -> !number.isEmpty())
                .map(Long::valueOf)
                .toList();
    }

    /** Returns a quantile of sorted times in microseconds; NaN where there are none. */
    static double micros(long[] sorted, double quantile) {
        return sorted.length == 0
                ? Double.NaN
                : sorted[(int) Math.min(sorted.length - 1, quantile * sorted.length)] / 1e3;
    }
}
