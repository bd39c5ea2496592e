package io.lockkeeper.testing;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Another JVM with the class path of the tests, to talk with line by line. */
public final class JavaProcess implements AutoCloseable {

    private final Process process;
    private final BufferedWriter input;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    private JavaProcess(Process process) {
        this.process = process;
        this.input = process.outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(this::read, "java-process-" + process.pid());
        reader.setDaemon(true);
        reader.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    }

    /** Starts a main class. */
    public static JavaProcess start(Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                main.getName()));
        command.addAll(List.of(arguments));
        try {
            return new JavaProcess(
                    new ProcessBuilder(command).redirectErrorStream(true).start());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Writes a line to the process. */
    public void send(String line) {
        try {
            input.write(line);
            input.newLine();
            input.flush();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Waits for a line that begins with a text, skips those before it, and returns what follows the text. */
    public String expect(String beginning, Duration timeout) throws InterruptedException {
        List<String> skipped = new ArrayList<>();
        long end = System.nanoTime() + timeout.toNanos();
        String line;
        while ((line = lines.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS)) != null) {
            if (line.startsWith(beginning)) {
                return line.substring(beginning.length()).strip();
            }
            skipped.add(line);
        }
        throw new AssertionError("No line '" + beginning + "' within " + timeout + ", but: " + skipped);
    }

    public void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    public void pause() {
        signal("STOP");
    }

    public void resume() {
        signal("CONT");
    }

    @Override
    public void close() {
        kill();
    }

    private void signal(String signal) {
        try {
            new ProcessBuilder("kill", "-" + signal, "" + process.pid()).start().waitFor(5, TimeUnit.SECONDS);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    private void read() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            @Nullable String line;
            while ((line = output.readLine()) != null) {
                lines.add(line);
            }
        } catch (IOException gone) {
            lines.add("(output ended: " + gone.getMessage() + ")");
        }
    }
}
