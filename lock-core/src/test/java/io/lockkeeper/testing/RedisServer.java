package io.lockkeeper.testing;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real redis-server in a process and a folder of its own. The executable is that of {@code -Dredis.server}, else one
 * on the PATH, else the one inside the embedded-redis artifact.
 */
public final class RedisServer implements AutoCloseable {

    private static final Duration START_TIMEOUT = Duration.ofSeconds(10);
    private static @Nullable Path executable;

    private final int port;
    private final List<String> command;
    private final Path folder;
    private Process process;

    private RedisServer(int port, List<String> extraArguments) {
        this.port = port;
        try {
            this.folder = Files.createTempDirectory("lockkeeper-redis");
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        command = new ArrayList<>(List.of(
                executable().toString(),
                "--port",
                "" + port,
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no"));
        command.addAll(List.of(
                "--dir", folder.toString(), "--logfile", folder.resolve("log").toString()));
        command.addAll(extraArguments);
        process = launch();
    }

    /** Starts a server on a free port and waits until it answers. */
    public static RedisServer start(String... extraArguments) {
        return new RedisServer(freePort(), List.of(extraArguments));
    }

    /** Returns a port that nobody uses now. */
    public static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    public String host() {
        return "127.0.0.1";
    }

    public int port() {
        return port;
    }

    /** Sends a command over a connection of its own, and returns the reply: text, Long, List or null. */
    public @Nullable Object command(String... arguments) {
        try (Socket socket = new Socket(host(), port)) {
            socket.setSoTimeout(10_000);
            socket.getOutputStream().write(Resp.request(arguments));
            return Resp.reply(new BufferedInputStream(socket.getInputStream()));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Returns how often a command was called since the last reset, scripts included. */
    public long calls(String name) {
        String key = "cmdstat_" + name.toLowerCase(Locale.ROOT) + ":calls=";
        return String.valueOf(command("INFO", "commandstats"))
                .lines()
                .filter(line -> line.startsWith(key))
                .map(line -> line.substring(key.length(), line.indexOf(',')))
                .mapToLong(Long::parseLong)
                .sum();
    }

    /** Returns the calls of EVALSHA and EVAL since the last reset. */
    public long scriptCalls() {
        return calls("evalsha") + calls("eval");
    }

    public void resetStatistics() {
        command("CONFIG", "RESETSTAT");
    }

    /** Returns all keys. */
    public List<String> keys() {
        return command("KEYS", "*") instanceof List<?> keys
                ? keys.stream().map(String::valueOf).toList()
                : List.of();
    }

    /** Returns a field of a hash; null where there is none. */
    public @Nullable String field(String key, String field) {
        return (String) command("HGET", key, field);
    }

    /** Stops the process as a whole, sockets open. */
    public void pause() {
        signal("STOP");
    }

    public void resume() {
        signal("CONT");
    }

    /** Ends the process at once. */
    public void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    /** Starts a killed server again, on the same port, empty. */
    public void restart() {
        process = launch();
    }

    @Override
    public void close() {
        kill();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted((a, b) -> b.compareTo(a)).forEach(file -> file.toFile().delete());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
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

    private Process launch() {
        try {
            Process started = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
            awaitAnswer(started);
            return started;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private void awaitAnswer(Process started) {
        long end = System.nanoTime() + START_TIMEOUT.toNanos();
        while (System.nanoTime() - end < 0 && started.isAlive()) {
            try {
                if ("PONG".equals(command("PING"))) {
                    return;
                }
            } catch (UncheckedIOException | IllegalStateException notYet) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            }
        }
        throw new IllegalStateException("redis-server did not start: " + command);
    }

    private static synchronized Path executable() {
        if (executable == null) {
            executable = find();
        }
        return executable;
    }

    private static Path find() {
        String configured = System.getProperty("redis.server");
        if (configured != null) {
            return Path.of(configured);
        }
        return Stream.of(System.getenv("PATH").split(java.io.File.pathSeparator))
                .map(folder -> Path.of(folder, "redis-server"))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseGet(RedisServer::extract);
    }

    private static Path extract() {
        boolean mac = System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("mac");
        String architecture = System.getProperty("os.arch").contains("aarch64") ? "arm64" : "amd64";
        String resource = "/redis-server-7.0.15-" + (mac ? "darwin" : "linux") + "-" + architecture;
        try (InputStream binary = RedisServer.class.getResourceAsStream(resource)) {
            if (binary == null) {
                throw new IllegalStateException("No redis-server for this machine: install one, or set -Dredis.server");
            }
            Path file = Files.createTempFile(
                    "redis-server",
                    "",
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            file.toFile().deleteOnExit();
            Files.write(file, binary.readAllBytes());
            return file;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
