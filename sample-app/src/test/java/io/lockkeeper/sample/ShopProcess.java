/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** An instance of the shop in a JVM of its own. */
final class ShopProcess implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final String name;
    private final int port;
    private final List<String> jvmOptions;
    private final List<String> settings;
    private final Customer customer;
    private final Path output;
    private final Process process;

    ShopProcess(String name, List<String> settings) throws IOException {
        this(name, List.of(), settings);
    }

    ShopProcess(String name, List<String> jvmOptions, List<String> settings) throws IOException {
        this(name, RedisServer.freePort(), jvmOptions, settings);
    }

    private ShopProcess(String name, int port, List<String> jvmOptions, List<String> settings) throws IOException {
        this.name = name;
        this.port = port;
        this.jvmOptions = jvmOptions;
        this.settings = settings;
        customer = new Customer(port);
        output = Files.createTempFile("shop-" + name, ".log");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx384m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
        command.addAll(jvmOptions);
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                SampleApplication.class.getName(),
                "--logging.level.io.lockkeeper.sample=INFO",
                "--server.port=" + port,
                "--sample.instance=" + name));
        command.addAll(settings);
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    Customer customer() {
        return customer;
    }

    /** Starts an instance of the same name at the same port; this one must have ended. */
    ShopProcess startAgain() throws IOException {
        return new ShopProcess(name, port, jvmOptions, settings);
    }

    String name() {
        return name;
    }

    String address() {
        return "http://localhost:" + port;
    }

    /** Waits until the instance has written the text to its log. */
    void awaitLog(String text) throws InterruptedException {
        long start = System.nanoTime();
        while (!log().contains(text)) {
            // Also the pace of asking: nothing tells but the log
            boolean ended = process.waitFor(50, TimeUnit.MILLISECONDS);
            assertThat(ended || System.nanoTime() - start > PATIENCE.toNanos())
                    .as("No '%s' in the log of the instance:%n%s", text, log())
                    .isFalse();
        }
    }

    /** Kills the instance as {@code kill -9} does. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Ends the instance as a deployment does, with SIGTERM, and returns its log. */
    String stop() throws InterruptedException {
        process.destroy();
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as("The instance ends:%n%s", log())
                .isTrue();
        return log();
    }

    /** Ends the instance as Ctrl+C does. */
    @Override
    public void close() throws IOException {
        process.destroy();
        try {
            if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException hurried) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Files.delete(output);
    }

    private String log() {
        try {
            return Files.readString(output);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
