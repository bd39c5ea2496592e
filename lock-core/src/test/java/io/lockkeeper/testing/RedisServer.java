/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real redis-server of the test's own: on a free port of the loopback, in a folder of its own, without persistence.
 *
 * <p>The executable is {@code -Dredis.server=path}, else that of {@code -Dredis.version} (6.2 or 7.0), which comes with
 * the test dependencies, else the redis-server on the PATH, else that 7.0.
 */
public final class RedisServer implements AutoCloseable {

    private static final String HOST = "127.0.0.1";
    private static final Duration START_TIMEOUT = Duration.ofSeconds(20);
    private static final Duration REPLY_TIMEOUT = Duration.ofSeconds(10);
    private static final int ATTEMPTS = 3;

    private final RedisExecutable executable;
    private final Path folder;
    private final List<String> extraArgs;
    private final int port;
    private final Duration clockAhead;
    private ChildProcess process;

    private RedisServer(RedisExecutable executable, int port, Duration clockAhead, List<String> extraArgs) {
        this.executable = executable;
        this.port = port;
        this.clockAhead = clockAhead;
        this.extraArgs = extraArgs;
        try {
            folder = Files.createTempDirectory("lockkeeper-redis");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        process = launch();
        try {
            awaitReady();
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Starts a server and waits until it answers. */
    public static RedisServer start() {
        return start(new String[0]);
    }

    /** Starts a server with further arguments, such as {@code "--maxmemory", "1mb"}, which win over the defaults. */
    public static RedisServer start(String... extraArgs) {
        return start(RedisServer::freePort, extraArgs);
    }

    /** Starts a server of a version, 6.2 or 7.0, whatever the others are. */
    public static RedisServer startVersion(String version, String... extraArgs) {
        return start(RedisExecutable.get(version), RedisServer::freePort, Duration.ZERO, extraArgs);
    }

    /** Starts a server on one of the ports that a supplier finds free. */
    static RedisServer start(IntSupplier freePorts, String... extraArgs) {
        return start(RedisExecutable.get(), freePorts, Duration.ZERO, extraArgs);
    }

    /**
     * Starts a server of version 6.2, on one of the ports that a supplier finds free, whose clock is ahead of the
     * machine's where that {@linkplain ClockAhead can be done}.
     */
    static RedisServer start(IntSupplier freePorts, Duration clockAhead, String... extraArgs) {
        return start(RedisExecutable.get("6.2"), freePorts, clockAhead, extraArgs);
    }

    private static RedisServer start(
            RedisExecutable executable, IntSupplier freePorts, Duration clockAhead, String... extraArgs) {
        for (int attempt = 1; ; attempt++) {
            try {
                return new RedisServer(executable, freePorts.getAsInt(), clockAhead, List.of(extraArgs));
            } catch (IllegalStateException e) {
                // Somebody else may have taken the port in between
                if (attempt == ATTEMPTS || !String.valueOf(e.getMessage()).contains("in use")) {
                    throw e;
                }
            }
        }
    }

    /** The address on which the server listens, the loopback. */
    public String host() {
        return HOST;
    }

    /** The port, which stays the same over {@link #restart()}. */
    public int port() {
        return port;
    }

    /** Whether the process runs, paused or not. */
    public boolean isRunning() {
        return process.process().isAlive();
    }

    /** Stops the process in its tracks (SIGSTOP): connections stay open, nothing is answered. */
    public void pause() {
        process.signal("STOP");
    }

    /** Lets a paused process go on (SIGCONT). */
    public void resume() {
        process.signal("CONT");
    }

    /** Ends the process without warning (SIGKILL). */
    public void kill() {
        process.kill();
    }

    /** Starts the server again on the same port and in the same folder, after killing it if it still runs. */
    public void restart() {
        kill();
        process = launch();
        awaitReady();
    }

    /** Opens a connection that no driver is involved in. */
    public RespConnection connect() {
        return new RespConnection(HOST, port, REPLY_TIMEOUT);
    }

    /** Sends one command on a connection of its own and returns the reply: a String, a Long, a List or null. */
    public @Nullable Object command(String... arguments) {
        try (RespConnection connection = connect()) {
            return connection.command(arguments);
        }
    }

    /**
     * How often a command ran since the start or {@link #resetStatistics()}, those run by scripts included.
     *
     * @param command in either case; a subcommand is {@code "config|get"}
     */
    public long calls(String command) {
        String statistics = String.valueOf(command("INFO", "commandstats"));
        String name = Pattern.quote(command.toLowerCase(Locale.ROOT));
        Matcher calls = Pattern.compile("^cmdstat_" + name + ":calls=(\\d+)", Pattern.MULTILINE)
                .matcher(statistics);
        return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }

    /** How often scripts were called since the start or {@link #resetStatistics()}: by hash and by text. */
    public long scriptCalls() {
        return calls("evalsha") + calls("eval");
    }

    /** All keys of the server. */
    public List<String> keys() {
        return command("KEYS", "*") instanceof List<?> keys
                ? keys.stream().map(String::valueOf).toList()
                : List.of();
    }

    /** A field of a hash; null where there is none. */
    public @Nullable String field(String key, String field) {
        return (String) command("HGET", key, field);
    }

    /** The owner of a lock, by its key; empty where there is none, null where there is no record. */
    public @Nullable String owner(String key) {
        LockRecord record = LockRecord.of(this, key);
        return record == null ? null : record.owner();
    }

    /** How many wait for a lock, by its key. */
    public int waiting(String key) {
        LockRecord record = LockRecord.of(this, key);
        return record == null ? 0 : record.waiting();
    }

    /** Starts the counts of {@link #calls(String)} from zero. */
    public void resetStatistics() {
        command("CONFIG", "RESETSTAT");
    }

    /** Kills the server and deletes its folder. */
    @Override
    public void close() {
        kill();
        ReservedPorts.release(port);
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            files.map(Path::toFile).sorted((a, b) -> b.compareTo(a)).forEach(File::delete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private ChildProcess launch() {
        List<String> command = new ArrayList<>(List.of(executable.path().toString()));
        command.addAll(List.of("--port", "" + port, "--bind", HOST, "--dir", folder.toString()));
        command.addAll(List.of("--save", "", "--appendonly", "no"));
        if (executable.majorVersion() >= 7) {
            command.addAll(List.of("--enable-debug-command", "local"));
        }
        command.addAll(extraArgs);
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log().toFile());
        if (!clockAhead.isZero()) {
            ClockAhead.set(builder.environment(), clockAhead);
        }
        return new ChildProcess(builder);
    }

    private void awaitReady() {
        long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
        while (!answers()) {
            if (!isRunning() || System.nanoTime() > deadline) {
                throw new IllegalStateException("redis-server did not start: " + logText());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }

    private boolean answers() {
        try {
            command("PING");
            // Another server may have got the port first
            return String.valueOf(command("INFO", "server"))
                    .contains("process_id:" + process.process().pid() + "\r\n");
        } catch (RespConnection.ErrorReply e) {
            return !String.valueOf(e.getMessage()).startsWith("LOADING");
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    private Path log() {
        return folder.resolve("redis.log");
    }

    private String logText() {
        try {
            return Files.readString(log());
        } catch (IOException e) {
            return e.toString();
        }
    }

    /**
     * A port of the loopback that nobody uses, and that is given to no other test of this machine while this JVM runs.
     */
    public static int freePort() {
        return ReservedPorts.reserve();
    }
}
