/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * One JVM of a comparison: locks with one peer as it is told on its standard input, and answers with what it counted.
 */
final class Worker {

    private static final int TOLD = 2_000;

    private final Peer peer;
    private final SharedPage page;
    private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private Worker(Peer peer, SharedPage page) {
        this.peer = peer;
        this.page = page;
    }

    /** Arguments: the peer, the port of Redis, the shared page. */
    public static void main(String[] arguments) throws Exception {
        try (Peer peer = Peers.valueOf(arguments[0]).open(Integer.parseInt(arguments[1]))) {
            Worker worker = new Worker(peer, new SharedPage(Path.of(arguments[2])));
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            System.out.println("ready");
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                System.out.println("result " + worker.run(Load.parse(line)));
            }
        }
        System.exit(0);
    }

    private String run(Load load) throws Exception {
        long cpu = system.getProcessCpuTime();
        long begin = System.nanoTime();
        long end = begin + TimeUnit.MILLISECONDS.toNanos(load.millis());
        ExecutorService threads = Executors.newFixedThreadPool(load.threads());
        List<Samples> samples = new ArrayList<>();
        try {
            List<Future<Samples>> running = new ArrayList<>();
            for (int i = 0; i < load.threads(); i++) {
                String name = load.oneKey()
                        ? load.name()
                        : load.name() + ":" + ProcessHandle.current().pid() + ":" + i;
                Callable<Samples> work = load.oneKey() ? () -> contend(name, load, end) : () -> alone(name, end);
                running.add(threads.submit(work));
            }
            for (Future<Samples> thread : running) {
                samples.add(thread.get());
            }
        } finally {
            threads.shutdown();
        }
        long nanos = System.nanoTime() - begin;
        return "nanos=" + nanos + " cpu=" + (system.getProcessCpuTime() - cpu) + " counts="
                + samples.stream().map(one -> "" + one.count()).collect(Collectors.joining(","))
                + " waits=" + Samples.told(samples.stream().map(Samples::waits).toList(), TOLD)
                + " handovers="
                + Samples.told(samples.stream().map(Samples::handovers).toList(), TOLD);
    }

    private Samples alone(String name, long end) throws Exception {
        Samples samples = new Samples();
        while (System.nanoTime() < end) {
            long asked = System.nanoTime();
            peer.underLock(name, () -> samples.waited(System.nanoTime() - asked));
        }
        return samples;
    }

    private Samples contend(String name, Load load, long end) throws Exception {
        Samples samples = new Samples();
        long section = TimeUnit.MICROSECONDS.toNanos(load.sectionMicros());
        while (System.nanoTime() < end) {
            long asked = System.nanoTime();
            peer.underLock(name, () -> {
                long handOver = page.enter();
                samples.waited(System.nanoTime() - asked);
                if (handOver >= 0) {
                    samples.handedOver(handOver);
                }
                long until = System.nanoTime() + section;
                while (section > 0 && System.nanoTime() < until) {
                    LockSupport.parkNanos(until - System.nanoTime());
                }
                page.leave();
            });
        }
        return samples;
    }
}
