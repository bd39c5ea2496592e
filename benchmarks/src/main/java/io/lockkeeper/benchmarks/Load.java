/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

/**
 * What the threads of one process do.
 *
 * @param name the lock's name, or its beginning
 * @param oneKey whether all lock the same name; false: each has its own
 * @param threads how many threads
 * @param millis for how long
 * @param sectionMicros how long each holds the lock
 */
record Load(String name, boolean oneKey, int threads, long millis, long sectionMicros) {

    static Load parse(String line) {
        String[] parts = line.split(" ");
        return new Load(
                parts[0],
                Boolean.parseBoolean(parts[1]),
                Integer.parseInt(parts[2]),
                Long.parseLong(parts[3]),
                Long.parseLong(parts[4]));
    }

    String line() {
        return name + " " + oneKey + " " + threads + " " + millis + " " + sectionMicros;
    }
}
