/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * A fault of a schedule.
 *
 * @param at when it begins, from the beginning of the run
 * @param kind what it is
 * @param worker whom it befalls, where it befalls one
 * @param lasts how long, where it is not over at once
 */
record PlannedFault(Duration at, FaultKind kind, int worker, Duration lasts) {

    /**
     * Draws the faults of a run; the same for the same arguments.
     *
     * @param seed of the drawing
     * @param kinds each comes once before any comes again
     * @param workers how many there are
     * @param lease the lease of their locks: stops are up to two and a half times as long
     * @param total how long the run is
     */
    static List<PlannedFault> draw(long seed, List<FaultKind> kinds, int workers, Duration lease, Duration total) {
        Random random = new Random(seed);
        List<PlannedFault> plan = new ArrayList<>();
        List<FaultKind> deck = new ArrayList<>();
        long at = 500L + random.nextInt(500);
        while (at < total.toMillis()) {
            if (deck.isEmpty()) {
                deck.addAll(kinds);
                Collections.shuffle(deck, random);
            }
            FaultKind kind = deck.remove(0);
            long lasts = lasts(kind, random, lease.toMillis());
            plan.add(new PlannedFault(Duration.ofMillis(at), kind, random.nextInt(workers), Duration.ofMillis(lasts)));
            // Three of ten meet the next one; between the others things get well again, and nothing excuses a loss
            at += random.nextInt(10) < 3 ? lasts / 2 + 50 : lasts + 300L + random.nextInt(1_200);
        }
        return plan;
    }

    private static long lasts(FaultKind kind, Random random, long lease) {
        return switch (kind) {
            case STOP_WORKER -> lease / 5 + random.nextLong(5 * lease / 2);
            case STOP_SERVER, PAUSE_CLIENTS, READ_ONLY_SERVER -> 100 + random.nextLong(3 * lease / 2);
            case KILL_WORKER, KILL_PUBSUB_CLIENTS, KILL_NORMAL_CLIENTS, FLUSH_SCRIPTS, DROP_CONNECTIONS -> 0;
            default -> 200 + random.nextLong(lease);
        };
    }
}
