/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Another JVM with the class path of the tests, to which a test talks line by line over its standard input and output
 * (standard error is merged into the output). Meant for one talking thread.
 */
public final class JavaProcess implements AutoCloseable {

    /** Most processes live for seconds: the second compiler and a parallel collector cost them more than they save. */
    private static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private final ChildProcess child;
    private final Writer input;
    private final BlockingQueue<Optional<String>> lines = new LinkedBlockingQueue<>();
    private final Queue<String> transcript = new ConcurrentLinkedQueue<>();

    private JavaProcess(List<String> command) {
        child = new ChildProcess(new ProcessBuilder(command).redirectErrorStream(true));
        input = child.process().outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(this::readOutput, "output-of-" + pid());
        reader.setDaemon(true);
        reader.start();
    }

    /** Starts a JVM that runs the main method of a class. */
    public static JavaProcess start(Class<?> main, String... args) {
        return start(List.of(), main, args);
    }

    /**
     * Starts a JVM with options after those for short lives, such as {@code -Xmx64m}, that runs the main method of a
     * class.
     */
    public static JavaProcess start(List<String> jvmOptions, Class<?> main, String... args) {
        return start(jvmOptions, System.getProperty("java.class.path"), main, args);
    }

    /** Starts a JVM with options and a class path of its own. */
    public static JavaProcess start(List<String> jvmOptions, String classPath, Class<?> main, String... args) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(SHORT_LIVED);
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", classPath, main.getName()));
        command.addAll(List.of(args));
        return new JavaProcess(command);
    }

    /** The id of the process. */
    public long pid() {
        return child.process().pid();
    }

    /** Whether the process runs, paused or not. */
    public boolean isAlive() {
        return child.process().isAlive();
    }

    /** Writes a line to the process's standard input. */
    public void send(String line) {
        try {
            input.write(line + "\n");
            input.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Waits for a line of output that starts with a prefix, and returns it whole. Lines before it are skipped.
     *
     * @throws AssertionError with all of the output, if the time is over or the output ends first
     */
    public String expect(String prefix, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        try {
            while (true) {
                Optional<String> line = lines.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (line == null) {
                    throw new AssertionError("No \"" + prefix + "\" within " + timeout + " in:\n" + output());
                }
                if (line.isEmpty()) {
                    lines.add(line);
                    throw new AssertionError("The output ended without \"" + prefix + "\":\n" + output());
                }
                if (line.get().startsWith(prefix)) {
                    return line.get();
                }
            }
        } catch (InterruptedException e) {
            throw ChildProcess.interrupted(e);
        }
    }

    /** Everything that the process has written so far. */
    public String output() {
        return String.join("\n", transcript);
    }

    /**
     * Waits for the process to end by itself and returns its exit code.
     *
     * @throws AssertionError if it still runs after the timeout
     */
    public int awaitExit(Duration timeout) {
        try {
            if (!child.process().waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError("Still running after " + timeout + ":\n" + output());
            }
        } catch (InterruptedException e) {
            throw ChildProcess.interrupted(e);
        }
        return child.process().exitValue();
    }

    /** Stops the process in its tracks (SIGSTOP), like a long garbage collection. */
    public void pause() {
        child.signal("STOP");
    }

    /** Lets a paused process go on (SIGCONT). */
    public void resume() {
        child.signal("CONT");
    }

    /** Ends the process without warning (SIGKILL). */
    public void kill() {
        child.kill();
    }

    /** Kills the process if it still runs. */
    @Override
    public void close() {
        kill();
    }

    private void readOutput() {
        try (BufferedReader reader = child.process().inputReader(StandardCharsets.UTF_8)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                transcript.add(line);
                lines.add(Optional.of(line));
            }
        } catch (IOException e) {
            transcript.add(e.toString());
        }
        lines.add(Optional.empty());
    }
}
