/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** All that is known of one peer in one cell. */
final class Figures {

    final Peers peer;
    final List<Outcome> rounds = new ArrayList<>();

    /** Commands that came over a connection, for each acquisition. */
    double requests;

    /** Commands that Redis executed, those of scripts included, for each acquisition. */
    double commands;

    /** How often two were in the section at once. */
    long overlaps;

    Figures(Peers peer) {
        this.peer = peer;
    }

    double median(ToDoubleFunction<Outcome> figure) {
        double[] sorted = rounds.stream().mapToDouble(figure).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    double smallest(ToDoubleFunction<Outcome> figure) {
        return rounds.stream().mapToDouble(figure).min().orElse(Double.NaN);
    }

    double largest(ToDoubleFunction<Outcome> figure) {
        return rounds.stream().mapToDouble(figure).max().orElse(Double.NaN);
    }
}
