/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.RedisServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What the starter adds to an application with spring-boot-starter-data-redis over Jedis. Arguments: {@code --plain} a
 * file with a class path, {@code --starter} the folder where the starter was built, {@code --classes} a folder with the
 * application, {@code --rounds}, {@code --out}.
 */
final class Footprint {

    private static final String OURS = "io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration,"
            + "io.lockkeeper.autoconfigure.actuate.LockkeeperEndpointAutoConfiguration,"
            + "io.lockkeeper.autoconfigure.actuate.LockkeeperHealthAutoConfiguration,"
            + "io.lockkeeper.autoconfigure.observation.LockkeeperObservationAutoConfiguration";

    private static final List<String> SPANS = List.of("started", "used", "threads");

    private final RedisServer redis;
    private final Path classes;

    /** One kind of application. */
    private enum Kind {
        PLAIN("data-redis alone", List.of()),
        EXCLUDED("the starter without its auto-configuration", List.of("-Dspring.autoconfigure.exclude=" + OURS)),
        STARTER("with the starter", List.of());

        private final String title;
        private final List<String> options;

        Kind(String title, List<String> options) {
            this.title = title;
            this.options = options;
        }
    }

    private Footprint(RedisServer redis, Path classes) {
        this.redis = redis;
        this.classes = classes;
    }

    public static void main(String[] arguments) throws IOException {
        Settings settings = Settings.of(arguments);
        ClassPath plain =
                ClassPath.read(Path.of(settings.text("--plain", "benchmarks/footprint/target/runtime.classpath")));
        Path target = Path.of(settings.text("--starter", "lock-spring-boot-starter/target"));
        ClassPath starter = ClassPath.read(target.resolve("runtime.classpath")).withJarsOf(target);
        Table table = new Table("footprint", settings);
        jars(plain, starter, table);
        try (RedisServer redis = RedisServer.start()) {
            Path classes = Path.of(settings.text("--classes", "benchmarks/target/classes"));
            Map<Kind, ClassPath> kinds =
                    new EnumMap<>(Map.of(Kind.PLAIN, plain, Kind.EXCLUDED, starter, Kind.STARTER, starter));
            new Footprint(redis, classes).startUp(kinds, settings.number("--rounds", 9), table);
        }
        table.end();
        System.exit(0);
    }

    private static void jars(ClassPath plain, ClassPath starter, Table table) {
        List<Path> further = starter.furtherThan(plain);
        table.begin(
                "jars",
                "Beside spring-boot-starter-data-redis with Jedis instead of Lettuce: " + names(starter.own())
                        + "; further runtime jars: " + (further.isEmpty() ? "none" : names(further)) + ".",
                "jars",
                "KB",
                "number");
        table.row(
                "all of data-redis",
                false,
                ClassPath.size(plain.jars()) / 1e3,
                plain.jars().size());
        table.row(
                "our own",
                true,
                ClassPath.size(starter.own()) / 1e3,
                starter.own().size());
        table.row("further ones", true, ClassPath.size(further) / 1e3, further.size());
        table.plot();
    }

    private static String names(List<Path> jars) {
        return jars.stream().map(jar -> "`" + jar.getFileName() + "`").collect(Collectors.joining(", "));
    }

    private void startUp(Map<Kind, ClassPath> kinds, int rounds, Table table) throws IOException {
        Map<Kind, double[][]> figures = new EnumMap<>(Kind.class);
        kinds.keySet().forEach(kind -> figures.put(kind, new double[SPANS.size()][rounds]));
        for (Kind kind : kinds.keySet()) {
            run(kind, kinds.get(kind));
        }
        for (int round = 0; round < rounds; round++) {
            for (Kind kind : kinds.keySet()) {
                Map<String, Long> told = run(kind, kinds.get(kind));
                for (int i = 0; i < SPANS.size(); i++) {
                    figures.get(kind)[i][round] = told.get(SPANS.get(i));
                }
            }
        }
        table.begin(
                "start-up",
                "CPU time of a process until its context has started, and until it has sent Redis its first PING, which the"
                        + " starter alone does while it starts; " + rounds
                        + " interleaved fresh JVMs each after one that loads the files; medians.",
                "application",
                "CPU until started, ms",
                "least",
                "most",
                "CPU until PING, ms",
                "least",
                "most",
                "threads");
        figures.forEach((kind, own) -> row(kind.title, own, table));
        double[] added = new double[2];
        for (int i = 0; i < added.length; i++) {
            added[i] = median(figures.get(Kind.STARTER)[i]) - median(figures.get(Kind.EXCLUDED)[i]);
        }
        table.row("added by the auto-configuration", true, added[0] / 1e6, Double.NaN, Double.NaN, added[1] / 1e6);
        table.plot();
    }

    private static void row(String title, double[][] own, Table table) {
        table.row(
                title,
                title.equals(Kind.STARTER.title),
                median(own[0]) / 1e6,
                Arrays.stream(own[0]).min().orElseThrow() / 1e6,
                Arrays.stream(own[0]).max().orElseThrow() / 1e6,
                median(own[1]) / 1e6,
                Arrays.stream(own[1]).min().orElseThrow() / 1e6,
                Arrays.stream(own[1]).max().orElseThrow() / 1e6,
                median(own[2]));
    }

    private static double median(double[] all) {
        double[] sorted = Arrays.stream(all).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private Map<String, Long> run(Kind kind, ClassPath classPath) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command = new ArrayList<>(List.of(java));
        command.addAll(kind.options);
        command.addAll(
                List.of("-cp", classPath.with(classes), FootprintApplication.class.getName(), "" + redis.port()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Map<String, Long> told = new HashMap<>();
        StringBuilder all = new StringBuilder();
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                all.append(line).append('\n');
                String[] parts = line.split(" ");
                if (parts.length == 2 && SPANS.contains(parts[0])) {
                    told.put(parts[0], Long.valueOf(parts[1]));
                }
            }
        }
        if (!told.keySet().containsAll(SPANS)) {
            throw new IllegalStateException("The application did not start:\n" + all);
        }
        return told;
    }
}
