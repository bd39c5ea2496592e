/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * A real Sentinel of the test's own: three sentinels that watch a master and its two replicas. It is ready when all of
 * them know each other and the replicas: a failover would be late before that.
 */
public final class RedisSentinel implements AutoCloseable {

    /** The name under which the sentinels know the master. */
    public static final String MASTER = "locks";

    private static final int SENTINELS = 3;
    private static final int REPLICAS = 2;
    private static final String HOST = "127.0.0.1";
    private static final Duration TIMEOUT = Duration.ofSeconds(40);
    private static final Duration REPLY_TIMEOUT = Duration.ofSeconds(10);

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<Integer> ports = new ArrayList<>();
    private final List<ChildProcess> sentinels = new ArrayList<>();
    private final Path folder;

    private RedisSentinel(String... extraArgs) {
        try {
            folder = Files.createTempDirectory("lockkeeper-sentinel");
            RedisServer first = server(extraArgs);
            for (int i = 0; i < REPLICAS; i++) {
                List<String> arguments = new ArrayList<>(List.of(extraArgs));
                arguments.addAll(List.of("--replicaof", HOST, "" + first.port()));
                server(arguments.toArray(String[]::new));
            }
            for (int i = 0; i < SENTINELS; i++) {
                sentinel(first.port());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try {
            await("be ready", this::isReady);
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Starts everything and waits until a failover would work.
     *
     * @param extraArgs further arguments of the master and the replicas, which win over the defaults
     */
    public static RedisSentinel start(String... extraArgs) {
        return new RedisSentinel(extraArgs);
    }

    /** The addresses of the sentinels, as {@code spring.data.redis.sentinel.nodes} takes them. */
    public List<String> nodes() {
        return ports.stream().map(port -> HOST + ":" + port).toList();
    }

    /** The ports of the sentinels. */
    public List<Integer> ports() {
        return List.copyOf(ports);
    }

    /** All servers that are watched: the first one was the master at the start. */
    public List<RedisServer> servers() {
        return List.copyOf(servers);
    }

    /** The server that is the master now, as the sentinels say. */
    public RedisServer master() {
        String port = about(ports.get(0)).get("port");
        return servers.stream()
                .filter(server -> String.valueOf(server.port()).equals(port))
                .findFirst()
                .orElseThrow();
    }

    /** Asks for a failover although the master works, and waits until another one is the master. */
    public void failover() {
        RedisServer before = master();
        command(ports.get(0), "SENTINEL", "FAILOVER", MASTER);
        awaitOtherMaster(before);
    }

    /** Waits until all sentinels name another master than the given one. */
    public void awaitOtherMaster(RedisServer before) {
        await("elect another master", () -> ports.stream().allMatch(port -> {
            Map<String, String> master = about(port);
            return !String.valueOf(before.port()).equals(master.get("port")) && "master".equals(master.get("flags"));
        }));
    }

    /** Whether all sentinels name the same master, and none is about to replace it. */
    public boolean isSettled() {
        String port = about(ports.get(0)).get("port");
        return ports.stream()
                .map(RedisSentinel::about)
                .allMatch(master -> "master".equals(master.get("flags"))
                        && String.valueOf(port).equals(master.get("port")));
    }

    /** Kills all processes and deletes the folder. */
    @Override
    public void close() {
        sentinels.forEach(ChildProcess::kill);
        servers.forEach(RedisServer::close);
        try (Stream<Path> files = Files.walk(folder)) {
            files.map(Path::toFile).sorted((a, b) -> b.compareTo(a)).forEach(File::delete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private RedisServer server(String... arguments) {
        List<String> all = new ArrayList<>(List.of("--repl-diskless-sync-delay", "0"));
        all.addAll(List.of(arguments));
        RedisServer server = RedisServer.start(all.toArray(String[]::new));
        servers.add(server);
        return server;
    }

    private void sentinel(int masterPort) throws IOException {
        int port = RedisServer.freePort();
        Path configuration = folder.resolve("sentinel-" + port + ".conf");
        Files.writeString(
                configuration,
                String.join(
                        "\n",
                        "port " + port,
                        "bind " + HOST,
                        "dir " + folder,
                        "sentinel monitor " + MASTER + " " + HOST + " " + masterPort + " 2",
                        "sentinel down-after-milliseconds " + MASTER + " 1000",
                        "sentinel failover-timeout " + MASTER + " 5000",
                        ""));
        Path executable = RedisExecutable.get().path();
        sentinels.add(new ChildProcess(new ProcessBuilder(executable.toString(), configuration.toString(), "--sentinel")
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("sentinel-" + port + ".log").toFile())));
        ports.add(port);
    }

    private boolean isReady() {
        return ports.stream().allMatch(port -> {
                    Map<String, String> master = about(port);
                    return "master".equals(master.get("flags"))
                            && String.valueOf(REPLICAS).equals(master.get("num-slaves"))
                            && String.valueOf(SENTINELS - 1).equals(master.get("num-other-sentinels"));
                })
                && servers.stream().skip(1).allMatch(replica -> String.valueOf(replica.command("INFO", "replication"))
                        .contains("master_link_status:up"));
    }

    /** What a sentinel says of the master; empty where it does not answer. */
    private static Map<String, String> about(int port) {
        Map<String, String> fields = new HashMap<>();
        try {
            if (command(port, "SENTINEL", "MASTER", MASTER) instanceof List<?> list) {
                for (int i = 0; i + 1 < list.size(); i += 2) {
                    fields.put(String.valueOf(list.get(i)), String.valueOf(list.get(i + 1)));
                }
            }
        } catch (UncheckedIOException e) {
            // It is only starting
            return Map.of();
        }
        return fields;
    }

    private static Object command(int port, String... arguments) {
        try (RespConnection connection = new RespConnection(HOST, port, REPLY_TIMEOUT)) {
            Object reply = connection.command(arguments);
            return reply == null ? "" : reply;
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("The sentinels do not " + what);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }
}
