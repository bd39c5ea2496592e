/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Several JVMs that lock in servers that take each other's place. One disaster befalls the servers after the other, each
 * when they have recovered from the one before, while workers are stopped and killed.
 */
final class TopologyTorture implements AutoCloseable {

    private static final Duration RECOVERY = Duration.ofSeconds(1);
    private static final Duration LEAST_CALM = Duration.ofMillis(300);

    private final TortureSettings settings;
    private final Topology topology;
    private final Path histories;
    private final Register register = new Register(true);

    /** It serves no lock: that it answers late shows that this machine is late. */
    private final RedisServer bystander = RedisServer.start();

    private final Pulse pulse = new Pulse(bystander);
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final List<Window> troubles = new CopyOnWriteArrayList<>();
    private final List<Window> lostData = new CopyOnWriteArrayList<>();
    private final List<Window> meetings = new CopyOnWriteArrayList<>();
    private final List<String> failures = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> done = Collections.synchronizedMap(new TreeMap<>());
    private volatile boolean over;

    TopologyTorture(Topology topology, TortureSettings settings) {
        this.topology = topology;
        this.settings = settings;
        try {
            histories = Files.createTempDirectory("lockkeeper-torture");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (int i = 0; i < settings.workers(); i++) {
            workers.add(
                    new WorkerProcess(i, topology.worker(), topology.address(), register.port(), histories, settings));
        }
    }

    /**
     * What came of a run.
     *
     * @param violations what must never be
     * @param excused how often servers had lost what a holder believed
     * @param disasters how often each befell them
     * @param text all of it and more, for people
     */
    record Outcome(List<String> violations, long excused, Map<String, Integer> disasters, String text) {}

    /** Runs to the end, and judges what happened. */
    Outcome run() throws InterruptedException {
        workers.forEach(WorkerProcess::awaitReady);
        Thread nemesis = new Thread(this::troubleWorkers, "nemesis");
        nemesis.start();
        troubleServers();
        over = true;
        nemesis.join();
        Waiting.forSo(settings.lease());
        workers.forEach(WorkerProcess::stop);
        workers.forEach(WorkerProcess::awaitClosed);
        List<String> leftovers = new ArrayList<>(failures);
        topology.masters().forEach(master -> leftovers.addAll(new Leftovers(master, settings).find()));
        for (WorkerProcess worker : workers) {
            String left = worker.awaitStopped();
            if (!left.equals("[]")) {
                leftovers.add(left + "\n" + worker.output());
            }
        }
        return outcome(leftovers);
    }

    private void troubleServers() {
        Random random = new Random(settings.seed());
        List<Disaster> deck = new ArrayList<>();
        long end = System.nanoTime() + settings.total().toNanos();
        while (System.nanoTime() < end) {
            if (deck.isEmpty()) {
                deck.addAll(topology.disasters());
                Collections.shuffle(deck, random);
            }
            Disaster disaster = deck.remove(0);
            Duration lasts =
                    Duration.ofMillis(200 + random.nextLong(settings.lease().toMillis()));
            long from = System.nanoTime();
            try {
                topology.suffer(disaster, lasts, random);
            } catch (RuntimeException | AssertionError failure) {
                failures.add("The servers did not recover from " + disaster + ": " + failure);
            }
            over(disaster.name(), from, Window.ALL);
            Window window = new Window(from, System.nanoTime(), Window.ALL, disaster.name());
            if (disaster.takesLocks(settings.promise())) {
                lostData.add(window);
            }
            if (disaster.givesLocksTwice(settings.promise())) {
                meetings.add(window);
            }
            // What one has lost is told before the next one comes: a lost lock ends with its lease at the latest.
            boolean loses = disaster.loss != Disaster.Loss.OF_NOTHING;
            Waiting.forSo((loses ? settings.lease() : LEAST_CALM).plusMillis(random.nextInt(1_500)));
        }
    }

    private void troubleWorkers() {
        Random random = new Random(settings.seed() + 1);
        while (!over) {
            Waiting.forSo(Duration.ofMillis(1_000 + random.nextInt(8_000)));
            int number = random.nextInt(workers.size());
            long from = System.nanoTime();
            boolean kills = random.nextInt(3) == 0;
            if (kills) {
                workers.get(number).replace();
            } else {
                Runnable end = workers.get(number).pause();
                Waiting.forSo(Duration.ofMillis(
                        200 + random.nextLong(2 * settings.lease().toMillis())));
                end.run();
            }
            over(kills ? "WORKER_IS_KILLED" : "WORKER_STOPS", from, WorkerProcess.name(number));
        }
    }

    private void over(String what, long from, String whom) {
        troubles.add(new Window(from, System.nanoTime() + RECOVERY.toNanos(), whom, what));
        done.merge(what, 1, Integer::sum);
    }

    private Outcome outcome(List<String> leftovers) {
        List<Window> windows = new ArrayList<>(troubles);
        windows.addAll(pulse.stalls());
        History history = History.of(histories);
        HistoryChecker checker = new HistoryChecker(history, windows, settings.lease(), lostData, meetings);
        List<String> violations = new ArrayList<>(checker.violations());
        checker.unexplainedLosses()
                .forEach(hold -> violations.add("Lost without a cause: " + hold + hold.lossReason()));
        violations.addAll(register.violations());
        violations.addAll(leftovers);
        Map<String, Long> results = history.holds().stream()
                .collect(Collectors.groupingBy(Hold::result, TreeMap::new, Collectors.counting()));
        String text = String.join(
                "\n",
                "seed " + settings.seed() + ", " + settings.total().toSeconds() + " s, " + settings.promise(),
                "disasters   " + new TreeMap<>(done),
                "leases      " + history.holds().stream().filter(Hold::isHeld).count() + ", results " + results,
                "register    " + register.accepted() + " writes, " + register.refused() + " stale accesses refused",
                "losses      " + checker.explainedLosses().size() + ", longest wait "
                        + checker.longestWait().toMillis() + " ms",
                "lost data   " + checker.excused() + " holders met another one, or lost their lock early",
                "violations  " + violations.size(),
                violations.stream().limit(20).collect(Collectors.joining("\n")),
                violations.isEmpty() ? "" : "troubles    " + windows);
        return new Outcome(violations, checker.excused(), Map.copyOf(done), text);
    }

    @Override
    public void close() {
        workers.forEach(WorkerProcess::close);
        pulse.close();
        bystander.close();
        topology.close();
        register.close();
        try (Stream<Path> files = Files.walk(histories)) {
            files.map(Path::toFile).sorted(Comparator.reverseOrder()).forEach(file -> file.delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
