/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockMode;
import java.util.List;
import java.util.Map;

/**
 * What an instance knows and Redis does not: how many of its callers wait, and how locks come to it.
 *
 * @param name the instance's name
 * @param pid its process id
 * @param port where it serves HTTP
 * @param waits the callers who wait for locks
 * @param held the fencing tokens of the locks that it holds, by name
 * @param handOversPerSecond how often a lock came to it from another instance
 * @param passesPerSecond how often a lock passed from one of its callers to the next
 * @param handOvers the last time that each lock came to it from another instance
 */
record InstanceReport(
        String name,
        long pid,
        int port,
        List<Waits> waits,
        Map<String, Long> held,
        double handOversPerSecond,
        double passesPerSecond,
        List<HandOver> handOvers) {

    boolean isOf(LockInstance instance) {
        return pid == instance.pid() && name.equals(instance.application());
    }

    /** Callers who wait for one lock in one mode, and how long the first of them has waited. */
    record Waits(String lock, LockMode mode, int callers, long longestMillis) {}

    /** One lock that came from another instance, at a time in milliseconds since 1970. */
    record HandOver(String lock, long token, long waitedMillis, long at) {}
}
