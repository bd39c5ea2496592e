/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.model;

import io.lockkeeper.testing.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tlc2.TLC;

/**
 * What TLC said about a model of docs/model.
 *
 * @param output all of it
 */
record ModelCheck(String output) {

    private static final Path MODELS = Path.of("..", "docs", "model");
    private static final Path WORK = Path.of("target", "model");
    private static final Pattern DISTINCT_STATES =
            Pattern.compile("(\\d+) distinct states found, 0 states left on queue");

    /** A configuration, and what differs from it. */
    static final class Run {

        private final String module;
        private String configuration;

        private Run(String module, String configuration) {
            this.module = module;
            this.configuration = configuration;
        }

        /** Sets a constant to another value. */
        Run with(String constant, String value) {
            return replacing("(?m)^(\\s*" + constant + " = ).*$", "$1" + Matcher.quoteReplacement(value));
        }

        /** Builds a fault in. */
        Run withMutant(String mutant) {
            return with("Mutant", '"' + mutant + '"');
        }

        /** Checks one invariant only. */
        Run checking(String invariant) {
            return replacing("(?m)^INVARIANTS .*$", "INVARIANTS " + invariant);
        }

        private Run replacing(String pattern, String replacement) {
            Matcher found = Pattern.compile(pattern).matcher(configuration);
            if (!found.find()) {
                throw new IllegalArgumentException("Nothing to replace for " + pattern + " in\n" + configuration);
            }
            configuration = found.replaceFirst(replacement);
            return this;
        }

        /** Runs TLC in a JVM of its own, with its files below target. */
        ModelCheck run(int workers, List<String> options, Duration timeout) {
            try {
                Files.createDirectories(WORK);
                Path folder = Files.createTempDirectory(WORK.toAbsolutePath(), module);
                Files.copy(MODELS.resolve(module + ".tla"), folder.resolve(module + ".tla"));
                Files.writeString(folder.resolve(module + ".cfg"), configuration);
                List<String> arguments = new ArrayList<>(List.of("-workers", Integer.toString(workers)));
                arguments.addAll(List.of("-metadir", folder.resolve("states").toString()));
                arguments.addAll(
                        List.of("-config", folder.resolve(module + ".cfg").toString()));
                arguments.add(folder.resolve(module + ".tla").toString());
                try (JavaProcess tlc = JavaProcess.start(options, TLC.class, arguments.toArray(String[]::new))) {
                    tlc.awaitExit(timeout);
                    return new ModelCheck(tlc.output());
                } finally {
                    delete(folder);
                }
            } catch (IOException failure) {
                throw new AssertionError("The model could not be copied", failure);
            }
        }

        private static void delete(Path folder) throws IOException {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file :
                        files.sorted((one, other) -> other.compareTo(one)).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    /** Takes a module with the configuration of the same name. */
    static Run of(String module) {
        return of(module, module);
    }

    static Run of(String module, String configuration) {
        try {
            return new Run(module, Files.readString(MODELS.resolve(configuration + ".cfg")));
        } catch (IOException failure) {
            throw new AssertionError("No such configuration: " + configuration, failure);
        }
    }

    /** Returns how many states the model has; 0 where TLC did not see all of them. */
    long distinctStates() {
        Matcher states = DISTINCT_STATES.matcher(output);
        return states.find() ? Long.parseLong(states.group(1)) : 0;
    }
}
