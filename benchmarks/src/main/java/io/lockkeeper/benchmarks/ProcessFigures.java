/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** What this JVM costs. */
final class ProcessFigures {

    private static final int COLLECTIONS = 4;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(150);

    /** The CPU time of each thread when it was seen last: one that has ended tells none. */
    private static final Map<Long, Long> SEEN = new ConcurrentHashMap<>();

    private ProcessFigures() {}

    static long cpuNanos() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
    }

    /**
     * Returns the CPU time of all threads but this one and those of the JVM, which compile and collect. To be asked
     * again and again: what a thread uses between the last time and its end is missing.
     */
    static long threadNanos() {
        ThreadMXBean all = ManagementFactory.getThreadMXBean();
        for (long id : all.getAllThreadIds()) {
            if (id != Thread.currentThread().getId()) {
                SEEN.merge(id, all.getThreadCpuTime(id), Math::max);
            }
        }
        return SEEN.values().stream().mapToLong(Long::longValue).sum();
    }

    static int threads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }

    /** Returns the least heap that is in use after some collections: work that is under way counts in none of them. */
    static long heap() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
            least = Math.min(
                    least,
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return least;
    }
}
