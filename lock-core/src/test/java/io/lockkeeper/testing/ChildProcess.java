/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

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
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw interrupted(e);
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
