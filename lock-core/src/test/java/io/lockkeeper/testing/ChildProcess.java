/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A process of this test run, which does not outlive this JVM. */
final class ChildProcess {

    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly), "kill-child-processes"));
    }

    private final Process process;

    ChildProcess(ProcessBuilder builder) {
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        RUNNING.add(process);
    }

    Process process() {
        return process;
    }

    /** Sends a signal by its short name, such as STOP. */
    void signal(String name) {
        try {
            // The shell's own kill: slim systems have no other
            Process kill = new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid())
                    .redirectErrorStream(true)
                    .start();
            String output = new String(kill.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("kill -" + name + ": " + output);
            }
            if (name.equals("STOP")) {
                // Each thread stops when it is next scheduled: on a busy machine that takes milliseconds.
                Awaitility.await().pollInterval(Duration.ofMillis(1)).until(this::isStopped);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    /** Returns whether all threads have stopped, or true where the system does not tell. */
    private boolean isStopped() {
        File[] tasks = new File("/proc/" + process.pid() + "/task").listFiles();
        return tasks == null || Stream.of(tasks).allMatch(ChildProcess::isStopped);
    }

    private static boolean isStopped(File task) {
        try {
            // The state follows the name of the command, which stands in parentheses.
            String status = Files.readString(task.toPath().resolve("stat"));
            return status.charAt(status.lastIndexOf(')') + 2) == 'T';
        } catch (IOException ended) {
            return true;
        }
    }

    /** SIGKILL, which also ends a stopped process, and waits until it is gone. */
    void kill() {
        process.destroyForcibly();
        try {
            process.waitFor();
            RUNNING.remove(process);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    static IllegalStateException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new IllegalStateException("Interrupted", e);
    }
}
