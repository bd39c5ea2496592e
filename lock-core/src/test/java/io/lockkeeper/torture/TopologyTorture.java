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
 * Several JVMs that lock in servers that take each other's place. One disaster befalls the servers after the other,
 * each when they have recovered from the one before, while workers are stopped and killed.
 */
final class TopologyTorture implements AutoCloseable {

    private static final Duration RECOVERY = Duration.ofSeconds(1);
    private static final Duration LEAST_CALM = Duration.ofMillis(300);
    private static final String WORKER_IS_KILLED = "WORKER_IS_KILLED";
    private static final String WORKER_STOPS = "WORKER_STOPS";

    private final TortureSettings settings;
    private final Topology topology;
    private final Path histories;
    private final Register register = new Register(true);

    /** It serves no lock: that it answers late shows that this machine is late. */
    private final RedisServer bystander = RedisServer.start();

    private final Pulse pulse = new Pulse(bystander);
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final List<Window> troubles = new CopyOnWriteArrayList<>();
    private final List<DataLoss> losses = new ArrayList<>();
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
     * @param text all of it and more, for people
     */
    record Outcome(List<String> violations, long excused, String text) {}

    /** Runs to the end, at least until each disaster has come once, and judges what happened. */
    Outcome run() throws InterruptedException {
        workers.forEach(WorkerProcess::awaitReady);
        Thread nemesis = new Thread(this::troubleWorkers, "nemesis");
        nemesis.start();
        troubleServers();
        over = true;
        nemesis.join();
        long calm = System.nanoTime();
        Waiting.forSo(settings.lease());
        workers.forEach(worker -> attempt("A worker cannot be stopped", worker::stop));
        workers.forEach(worker -> attempt("A worker does not end", worker::awaitClosed));
        topology.masters().forEach(master -> failures.addAll(new Leftovers(master, settings).find()));
        workers.forEach(worker -> attempt("A worker is left", () -> {
            String left = worker.awaitStopped();
            if (!left.equals("[]")) {
                failures.add(left + "\n" + worker.output());
            }
        }));
        return outcome(calm);
    }

    private void attempt(String otherwise, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException | Error failure) {
            failures.add(otherwise + ": " + failure);
        }
    }

    private void troubleServers() {
        Random random = new Random(settings.seed());
        List<Disaster> deck = new ArrayList<>();
        int least = topology.disasters().size();
        long end = System.nanoTime() + settings.total().toNanos();
        for (int i = 0; i < least || System.nanoTime() < end; i++) {
            if (deck.isEmpty()) {
                deck.addAll(topology.disasters());
                Collections.shuffle(deck, random);
            }
            Disaster disaster = deck.remove(0);
            Duration lasts =
                    Duration.ofMillis(200 + random.nextLong(settings.lease().toMillis()));
            trouble(disaster, lasts, random);
            // What one has lost is told before the next one comes: a lost lock ends with its lease at the latest.
            boolean loses = disaster.loss != Disaster.Loss.OF_NOTHING;
            Waiting.forSo((loses ? settings.lease() : LEAST_CALM).plusMillis(random.nextInt(topology.calmMillis())));
        }
    }

    private void trouble(Disaster disaster, Duration lasts, Random random) {
        long from = System.nanoTime();
        attempt("The servers did not recover from " + disaster, () -> {
            long to = topology.suffer(disaster, lasts, random);
            Disaster.Harm harm = disaster.harm(settings.promise());
            if (harm != Disaster.Harm.NONE) {
                losses.add(new DataLoss(from, to, harm));
            }
        });
        done.merge(disaster.name(), 1, Integer::sum);
        // That one master of a quorum fails is no excuse.
        if (settings.promise() != TortureSettings.Promise.QUORUM) {
            troubled(disaster.name(), from, Window.ALL);
        }
    }

    private void troubleWorkers() {
        Random random = new Random(settings.seed() + 1);
        int leaseMillis = (int) settings.lease().toMillis();
        // At least once each: a worker stops, and one is killed.
        for (int i = 0; i < 2 || !over; i++) {
            Waiting.forSo(Duration.ofMillis(leaseMillis / 4 + random.nextInt(2 * leaseMillis)));
            int number = random.nextInt(workers.size());
            Duration lasts = Duration.ofMillis(200 + random.nextInt(2 * leaseMillis));
            boolean kills = i % 3 == 1;
            attempt("A worker cannot be troubled", () -> trouble(number, lasts, kills));
        }
    }

    private void trouble(int number, Duration lasts, boolean kills) {
        long from = System.nanoTime();
        if (kills) {
            workers.get(number).replace();
        } else {
            Runnable end = workers.get(number).pause();
            Waiting.forSo(lasts);
            end.run();
        }
        String what = kills ? WORKER_IS_KILLED : WORKER_STOPS;
        done.merge(what, 1, Integer::sum);
        troubled(what, from, WorkerProcess.name(number));
    }

    private void troubled(String what, long from, String whom) {
        troubles.add(new Window(from, System.nanoTime() + RECOVERY.toNanos(), whom, what));
    }

    /** What the run should have seen, and has not: without that it shows nothing. */
    private List<String> unseen(History history, long calm) {
        List<Hold> leases = history.holds().stream().filter(Hold::isHeld).toList();
        List<String> unseen = new ArrayList<>();
        settings.promise().forms().stream()
                .filter(form -> form != Form.CANCELLED)
                .filter(form -> leases.stream().noneMatch(lease -> lease.form.equals(form.name())))
                .forEach(form -> unseen.add("There was no lease of the form " + form));
        history.workersWithoutLease(settings.workers(), calm)
                .forEach(name -> unseen.add("There was no lease of " + name + " after all troubles, but "
                        + results(history.holds().stream()
                                .filter(hold -> hold.worker.equals(name) && hold.over() > calm))));
        Stream.of(WORKER_IS_KILLED, WORKER_STOPS)
                .filter(trouble -> !done.containsKey(trouble))
                .forEach(trouble -> unseen.add("Never was there " + trouble));
        if (register.accepted() == 0) {
            unseen.add("There was no write");
        }
        return unseen;
    }

    private static Map<String, Long> results(Stream<Hold> holds) {
        return holds.collect(Collectors.groupingBy(Hold::result, TreeMap::new, Collectors.counting()));
    }

    private Outcome outcome(long calm) {
        List<Window> windows = new ArrayList<>(troubles);
        windows.addAll(pulse.stalls());
        History history = History.of(histories);
        HistoryChecker checker = new HistoryChecker(history, windows, settings.lease(), losses);
        List<String> violations = new ArrayList<>(checker.violations());
        checker.unexplainedLosses()
                .forEach(hold -> violations.add("Lost without a cause: " + hold + hold.lossReason()));
        violations.addAll(register.violations());
        violations.addAll(failures);
        violations.addAll(unseen(history, calm));
        String text = String.join(
                "\n",
                "seed " + settings.seed() + ", " + settings.total().toSeconds() + " s, " + settings.promise(),
                "disasters   " + new TreeMap<>(done),
                "leases      " + history.holds().stream().filter(Hold::isHeld).count() + ", results "
                        + results(history.holds().stream()),
                "register    " + register.accepted() + " writes, " + register.refused() + " stale accesses refused",
                "losses      " + checker.explainedLosses().size() + ", longest wait "
                        + checker.longestWait().toMillis() + " ms",
                "lost data   " + checker.excused() + " holders met another one, or lost their lock early",
                "violations  " + violations.size(),
                violations.stream().limit(20).collect(Collectors.joining("\n")),
                violations.isEmpty() ? "" : "troubles    " + windows + "\nlosses      " + losses);
        return new Outcome(violations, checker.excused(), text);
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
