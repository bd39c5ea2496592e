/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** How another JVM is asked for one figure after the other: a line has a word and a number, and so has the answer. */
final class WorkerLoop {

    private static final Duration PATIENCE = Duration.ofMinutes(15);

    private WorkerLoop() {}

    /**
     * Starts a JVM with both compilers, as those of applications: the other JVMs of the tests, which live for seconds,
     * have the quick one alone.
     *
     * @param heap its size, such as {@code 256m}
     */
    static JavaProcess start(String heap, Class<?> main, String... arguments) {
        return JavaProcess.start(List.of("-XX:TieredStopAtLevel=4", "-Xmx" + heap), main, arguments);
    }

    /** Answers until the input ends. */
    static void answer(Map<String, LongUnaryOperator> questions) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] parts = line.split(" ");
            System.out.println("answer " + questions.get(parts[0]).applyAsLong(Long.parseLong(parts[1])));
        }
    }

    static void awaitReady(JavaProcess worker) {
        worker.expect("ready", PATIENCE);
    }

    static long ask(JavaProcess worker, String question, long number) {
        worker.send(question + " " + number);
        return Long.parseLong(worker.expect("answer ", PATIENCE).substring("answer ".length()));
    }

    static long ask(JavaProcess worker, String question) {
        return ask(worker, question, 0);
    }
}
