/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A JVM whose threads lock; a killed one is replaced by a new one. */
final class WorkerProcess implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final List<String> SMALL = List.of("-Xmx128m");

    private final int number;
    private final Class<?> main;
    private final String redis;
    private final int registerPort;
    private final Path histories;
    private final TortureSettings settings;
    private int generation;
    private JavaProcess process;

    WorkerProcess(int number, Class<?> main, String redis, int registerPort, Path histories, TortureSettings settings) {
        this.number = number;
        this.main = main;
        this.redis = redis;
        this.registerPort = registerPort;
        this.histories = histories;
        this.settings = settings;
        this.process = launch();
    }

    /** The name of a worker in ids and windows, whatever its generation. */
    static String name(int number) {
        return "w" + number;
    }

    private JavaProcess launch() {
        generation++;
        String name = name(number) + "/" + generation;
        Path file = histories.resolve(name(number) + "-" + generation);
        Connections driver = number % 2 == 0 ? Connections.JEDIS : Connections.LETTUCE;
        return JavaProcess.start(
                SMALL, main, name, file.toString(), driver.name(), redis, "" + registerPort, settings.toText());
    }

    /**
     * Waits until the worker works.
     *
     * @throws AssertionError if its monotonic clock is not this one's: then the times of histories could not be
     *     compared
     */
    synchronized void awaitReady() {
        process.expect("ready", PATIENCE);
        long before = System.nanoTime();
        process.send("clock");
        long there = Long.parseLong(process.expect("clock ", PATIENCE).substring(6));
        long after = System.nanoTime();
        if (there < before || there > after) {
            throw new AssertionError("System.nanoTime() of another process is not CLOCK_MONOTONIC of this machine: "
                    + there + " is not between " + before + " and " + after);
        }
        process.send("go");
    }

    /** Stops the process until the returned task runs; a process that was replaced meanwhile is left alone. */
    synchronized Runnable pause() {
        JavaProcess stopped = process;
        stopped.pause();
        return () -> {
            if (stopped.isAlive()) {
                stopped.resume();
            }
        };
    }

    /**
     * Kills the process, and starts another one.
     *
     * @throws AssertionError if the process had failed before that
     */
    synchronized void replace() {
        boolean failed = !process.isAlive() || process.output().contains(TortureWorker.FAILED);
        String output = process.output();
        process.kill();
        process = launch();
        awaitReady();
        if (failed) {
            throw new AssertionError("A worker had failed:\n" + output);
        }
    }

    /** Asks the threads to end. */
    synchronized void stop() {
        process.send("stop");
    }

    /** Waits until the template is closed. */
    void awaitClosed() {
        await("closed");
    }

    /** Waits until the process writes a line that begins so. */
    synchronized void await(String line) {
        process.expect(line, PATIENCE);
    }

    /** What is left in the process when its threads have had time to end: nothing, one hopes. */
    synchronized String awaitStopped() {
        String left = process.expect("left ", PATIENCE);
        process.awaitExit(PATIENCE);
        return left.substring(5);
    }

    /** Everything that the process has written. */
    synchronized String output() {
        return process.output();
    }

    @Override
    public synchronized void close() {
        process.close();
    }
}
