/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Counts the threads of ours, again and again, but for those that were there before and those of a group apart. */
final class LiveThreads implements AutoCloseable {

    private static final String OURS = "lockkeeper";
    private static final long PAUSE_NANOS = 500_000;

    private final ThreadGroup apart;
    private final Set<Thread> before;
    private final Thread counter = new Thread(this::count, "counter of threads");
    private volatile Collection<String> most = Set.of();
    private volatile boolean closed;

    /**
     * Begins to count.
     *
     * @param apart whose threads do not count
     */
    LiveThreads(ThreadGroup apart) {
        this.apart = apart;
        this.before = new HashSet<>(live().toList());
        counter.setDaemon(true);
        counter.start();
    }

    private static Stream<Thread> live() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] all = new Thread[2 * root.activeCount() + 100];
        root.enumerate(all);
        return Arrays.stream(all).filter(Objects::nonNull);
    }

    private void count() {
        while (!closed) {
            Collection<String> now = live().filter(thread -> thread.getName().startsWith(OURS))
                    .filter(thread -> !before.contains(thread) && thread.getThreadGroup() != apart)
                    .map(Thread::getName)
                    .toList();
            if (now.size() > most.size()) {
                most = now;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** Returns the names of the threads at the moment at which there were most, and begins anew. */
    Collection<String> most() {
        Collection<String> seen = most;
        most = Set.of();
        return seen;
    }

    @Override
    public void close() {
        closed = true;
    }
}
