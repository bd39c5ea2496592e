/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** What this JVM costs. */
final class ProcessFigures {

    private static final int COLLECTIONS = 4;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(150);

    private ProcessFigures() {}

    static long cpuNanos() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
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
