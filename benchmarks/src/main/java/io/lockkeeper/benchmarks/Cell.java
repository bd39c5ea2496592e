/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.List;

/**
 * One comparison: a load, and who takes part.
 *
 * @param title what is compared, for people
 * @param processes how many JVMs each peer has
 * @param threads how many threads each JVM has
 * @param oneKey whether all lock the same name
 * @param sectionMicros how long each holds the lock
 * @param peers who takes part
 */
record Cell(String title, int processes, int threads, boolean oneKey, long sectionMicros, List<Peers> peers) {

    private static final List<Peers> ALL = List.of(Peers.values());
    private static final List<Peers> WAITING =
            ALL.stream().filter(peer -> peer.waits).toList();

    /** All cells, in the order of the report: the first ones do the most, and warm the JVMs for those that follow. */
    static List<Cell> all() {
        return List.of(
                new Cell("uncontended, 64 threads", 1, 64, false, 0, ALL),
                new Cell("uncontended, 8 threads", 1, 8, false, 0, ALL),
                new Cell("uncontended, 1 thread", 1, 1, false, 0, ALL),
                new Cell("one key, one JVM, 8 threads, empty section", 1, 8, true, 0, WAITING),
                new Cell("one key, one JVM, 64 threads, empty section", 1, 64, true, 0, WAITING),
                new Cell("one key, one JVM, 64 threads, 1 ms section", 1, 64, true, 1_000, WAITING),
                new Cell("one key, 4 JVMs x 4 threads, empty section", 4, 4, true, 0, WAITING),
                new Cell("one key, 4 JVMs x 4 threads, 1 ms section", 4, 4, true, 1_000, WAITING),
                new Cell("hand-over, 2 JVMs x 1 thread, 1 ms section", 2, 1, true, 1_000, WAITING));
    }

    Load load(Peers peer, long millis) {
        return new Load("{bench}:" + peer + ":" + Math.abs(title.hashCode()), oneKey, threads, millis, sectionMicros);
    }
}
