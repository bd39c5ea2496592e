/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Compares all peers, one after the other in each round, in JVMs that stay and are warm. Arguments, all optional:
 * {@code --millis} of a peer in a round, {@code --warm} milliseconds before for each JVM, {@code --rounds},
 * {@code --peers} and {@code --cells} by parts of their names, {@code --out} a folder.
 */
final class Comparison implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final long COUNTED_MILLIS = 300;

    private final Options options;
    private final RedisServer redis = RedisServer.start();
    private final Path file;
    private final SharedPage page;
    private final Map<Peers, List<JavaProcess>> workers = new EnumMap<>(Peers.class);

    private Comparison(Options options) throws IOException {
        this.options = options;
        this.file = Files.createTempFile("lockkeeper-benchmark", ".page");
        this.page = new SharedPage(file);
    }

    /** What a run is made of. */
    record Options(long millis, long warmMillis, int rounds, Set<String> peers, Set<String> cells, Path out) {

        static Options parse(String[] arguments) {
            Settings settings = Settings.of(arguments);
            return new Options(
                    settings.number("--millis", 1_000),
                    settings.number("--warm", 3_000),
                    settings.number("--rounds", 3),
                    Set.copyOf(Arrays.asList(settings.text("--peers", "").split(","))),
                    Set.copyOf(Arrays.asList(settings.text("--cells", "").split(","))),
                    settings.folder());
        }

        private static boolean matches(Set<String> parts, String name) {
            return parts.stream().anyMatch(name::contains);
        }

        boolean takes(Cell cell) {
            return matches(cells, cell.title());
        }

        boolean takes(Peers peer) {
            return matches(peers, peer.title());
        }
    }

    /** Runs what was asked for and writes the report. */
    public static void main(String[] arguments) throws IOException {
        Options options = Options.parse(arguments);
        try (Comparison comparison = new Comparison(options)) {
            Report report = new Report(options, String.join(" ", arguments));
            for (Cell cell : Cell.all()) {
                if (options.takes(cell)) {
                    report.add(cell, comparison.compare(cell));
                }
            }
            report.end();
        }
        System.exit(0);
    }

    private List<Figures> compare(Cell cell) {
        List<Figures> figures =
                cell.peers().stream().filter(options::takes).map(Figures::new).toList();
        for (Figures one : figures) {
            run(cell, one.peer, options.warmMillis() * cell.processes());
            count(cell, one);
        }
        for (int round = 0; round < options.rounds(); round++) {
            for (Figures one : figures) {
                one.rounds.add(run(cell, one.peer, options.millis()));
                one.overlaps += page.overlaps();
            }
        }
        return figures;
    }

    private Outcome run(Cell cell, Peers peer, long millis) {
        page.clear();
        ServerFigures before = ServerFigures.of(redis);
        List<String> answers = answers(cell, peer, millis);
        return Outcome.of(answers, ServerFigures.of(redis).since(before).cpuNanos());
    }

    private List<String> answers(Cell cell, Peers peer, long millis) {
        List<JavaProcess> own = workers(peer, cell.processes());
        own.forEach(worker -> worker.send(cell.load(peer, millis).line()));
        return own.stream().map(worker -> worker.expect("result ", PATIENCE)).toList();
    }

    private void count(Cell cell, Figures figures) {
        List<String> answers;
        Monitor monitor = new Monitor(redis.port());
        try (monitor) {
            answers = answers(cell, figures.peer, COUNTED_MILLIS);
        }
        double acquisitions = Math.max(1, acquisitions(answers));
        figures.requests = monitor.requests() / acquisitions;
        figures.commands = monitor.commands() / acquisitions;
    }

    private static long acquisitions(List<String> answers) {
        return answers.stream()
                .flatMap(answer -> Arrays.stream(answer.split(" ")))
                .filter(part -> part.startsWith("counts="))
                .flatMap(part -> Arrays.stream(part.substring(7).split(",")))
                .collect(Collectors.summingLong(Long::parseLong));
    }

    private List<JavaProcess> workers(Peers peer, int count) {
        List<JavaProcess> own = workers.computeIfAbsent(peer, key -> new ArrayList<>());
        while (own.size() < count) {
            JavaProcess worker =
                    WorkerLoop.start("256m", Worker.class, peer.name(), "" + redis.port(), file.toString());
            own.add(worker);
            worker.expect("ready", PATIENCE);
        }
        return own.subList(0, count);
    }

    @Override
    public void close() throws IOException {
        workers.values().forEach(own -> own.forEach(JavaProcess::close));
        redis.close();
        Files.delete(file);
    }
}
