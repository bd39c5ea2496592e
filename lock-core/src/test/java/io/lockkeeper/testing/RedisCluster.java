/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * A real Redis cluster of the test's own: three masters that share the slots, each with as many replicas as asked for.
 * It serves the slots of the other masters while one is gone.
 */
public final class RedisCluster implements AutoCloseable {

    private static final int MASTERS = 3;
    private static final int SLOTS = 16_384;
    private static final int SLOTS_IN_ONE_COMMAND = 1_000;
    private static final int BUS_OFFSET = 10_000;
    private static final Duration START_TIMEOUT = Duration.ofSeconds(40);

    private final List<RedisServer> masters = new ArrayList<>();
    private final List<RedisServer> replicas = new ArrayList<>();

    private RedisCluster(int nodes, IntFunction<RedisServer> start) {
        try {
            for (int i = 0; i < nodes; i++) {
                (i < MASTERS ? masters : replicas).add(start.apply(i));
            }
            shareSlots();
            meet();
            replicate();
            await("be complete", this::isComplete);
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Starts a cluster of one master, which has all slots. */
    public static RedisServer ofOne() {
        RedisServer server = RedisServer.start(
                "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--loglevel", "warning");
        List<String> slots = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
        IntStream.range(0, SLOTS).forEach(slot -> slots.add("" + slot));
        server.command(slots.toArray(String[]::new));
        Awaitility.await()
                .until(() -> String.valueOf(server.command("CLUSTER", "INFO")).contains("cluster_state:ok"));
        return server;
    }

    /** Starts three masters and waits until all of them serve their slots. */
    public static RedisCluster start() {
        return start(0);
    }

    /**
     * Starts three masters with their replicas, and waits until all serve and follow.
     *
     * @param replicasOfEach how many replicas each master has
     * @param extraArgs further arguments of each server, which win over the defaults
     */
    public static RedisCluster start(int replicasOfEach, String... extraArgs) {
        return new RedisCluster(
                MASTERS * (1 + replicasOfEach),
                node -> RedisServer.start(RedisCluster::freePort, arguments(extraArgs)));
    }

    /**
     * Starts three masters of Redis 6.2, and waits until all of them serve their slots. The clock of the last one is
     * ahead of those of the others, where that can be done: ask it for the time.
     */
    public static RedisCluster startWithClockAhead(Duration ahead) {
        return new RedisCluster(MASTERS, node -> {
            Duration own = node == MASTERS - 1 ? ahead : Duration.ZERO;
            return RedisServer.start(RedisCluster::freePort, own, arguments());
        });
    }

    /** The servers that were masters at the start. */
    public List<RedisServer> masters() {
        return List.copyOf(masters);
    }

    /** The servers that were replicas at the start: first one of each master in their order, then the second ones. */
    public List<RedisServer> replicas() {
        return List.copyOf(replicas);
    }

    /** The ports of all nodes. */
    public List<Integer> ports() {
        return nodes().map(RedisServer::port).toList();
    }

    /** The server that was the master of a key at the start. */
    public RedisServer masterOf(String key) {
        int slot = ClusterSlotHashUtil.calculateSlot(key.getBytes(StandardCharsets.UTF_8));
        int index = 0;
        while (slot >= firstSlot(index + 1)) {
            index++;
        }
        return masters.get(index);
    }

    /** Moves the slot of a name, with its keys, from one master to another. */
    public void moveSlot(String name, RedisServer from, RedisServer to) {
        beginMove(name, from, to);
        finishMove(name, from, to);
    }

    /** Begins to move the slot of a name: its keys are still where they were. */
    public void beginMove(String name, RedisServer from, RedisServer to) {
        String slot = String.valueOf(to.command("CLUSTER", "KEYSLOT", name));
        String source = String.valueOf(from.command("CLUSTER", "MYID"));
        String target = String.valueOf(to.command("CLUSTER", "MYID"));
        to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source);
        from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target);
    }

    /** Moves the keys of a slot that is moving, and gives it to its new master. */
    public void finishMove(String name, RedisServer from, RedisServer to) {
        finishMove(name, from, to, masters);
    }

    /** Moves the keys of a slot that is moving, gives it to its new master, and tells those that are masters now. */
    public void finishMove(String name, RedisServer from, RedisServer to, List<RedisServer> masters) {
        String slot = String.valueOf(to.command("CLUSTER", "KEYSLOT", name));
        String target = String.valueOf(to.command("CLUSTER", "MYID"));
        while (from.command("CLUSTER", "GETKEYSINSLOT", slot, "10") instanceof List<?> keys && !keys.isEmpty()) {
            List<String> command =
                    new ArrayList<>(List.of("MIGRATE", to.host(), "" + to.port(), "", "0", "5000", "KEYS"));
            keys.forEach(key -> command.add(String.valueOf(key)));
            from.command(command.toArray(String[]::new));
        }
        to.command("CLUSTER", "SETSLOT", slot, "NODE", target);
        from.command("CLUSTER", "SETSLOT", slot, "NODE", target);
        masters.forEach(master -> master.command("CLUSTER", "SETSLOT", slot, "NODE", target));
    }

    /** All keys of the cluster with the index of the master that has them. */
    public Map<String, Integer> keys() {
        Map<String, Integer> keys = new TreeMap<>();
        for (int i = 0; i < MASTERS; i++) {
            for (String key : masters.get(i).keys()) {
                keys.put(key, i);
            }
        }
        return keys;
    }

    /** How often a command ran on all masters since the start or {@link #resetStatistics()}. */
    public long calls(String command) {
        return masters.stream().mapToLong(master -> master.calls(command)).sum();
    }

    /** How often scripts were called on all masters since the start or {@link #resetStatistics()}. */
    public long scriptCalls() {
        return masters.stream().mapToLong(RedisServer::scriptCalls).sum();
    }

    /** Starts the counts of all nodes from zero. */
    public void resetStatistics() {
        nodes().forEach(RedisServer::resetStatistics);
    }

    /** Waits until the nodes that run agree that all slots are served. */
    public void awaitServing() {
        await("serve", () -> nodes().filter(RedisServer::isRunning)
                .allMatch(node -> info(node, "CLUSTER", "INFO").contains("cluster_state:ok")));
    }

    /** Kills all nodes and deletes their folders. */
    @Override
    public void close() {
        nodes().forEach(RedisServer::close);
    }

    private static String[] arguments(String... extraArgs) {
        List<String> arguments = new ArrayList<>(List.of("--cluster-enabled", "yes"));
        arguments.addAll(List.of("--cluster-announce-ip", "127.0.0.1", "--cluster-require-full-coverage", "no"));
        arguments.addAll(List.of(extraArgs));
        return arguments.toArray(String[]::new);
    }

    /** A port that is free together with the port of its cluster bus, which Redis 6.2 puts at a fixed distance. */
    private static int freePort() {
        int port = ReservedPorts.reserve();
        while (!ReservedPorts.isFree(port + BUS_OFFSET)) {
            port = ReservedPorts.reserve();
        }
        return port;
    }

    private static int firstSlot(int master) {
        return master * SLOTS / MASTERS;
    }

    private void shareSlots() {
        for (int i = 0; i < MASTERS; i++) {
            masters.get(i).command("CLUSTER", "SET-CONFIG-EPOCH", "" + (i + 1));
            List<String> slots = new ArrayList<>();
            for (int slot = firstSlot(i); slot < firstSlot(i + 1); slot++) {
                slots.add("" + slot);
            }
            for (int from = 0; from < slots.size(); from += SLOTS_IN_ONE_COMMAND) {
                List<String> command = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
                command.addAll(slots.subList(from, Math.min(slots.size(), from + SLOTS_IN_ONE_COMMAND)));
                masters.get(i).command(command.toArray(String[]::new));
            }
        }
    }

    private void meet() {
        List<RedisServer> nodes = nodes().toList();
        for (int i = 0; i < nodes.size(); i++) {
            for (RedisServer other : nodes.subList(i + 1, nodes.size())) {
                nodes.get(i).command("CLUSTER", "MEET", other.host(), "" + other.port());
            }
        }
        await("know each other", () -> nodes.stream().allMatch(node -> knowsAll(node, nodes.size())));
    }

    private static boolean knowsAll(RedisServer node, int count) {
        String known = info(node, "CLUSTER", "NODES");
        return known.lines().count() == count
                && Stream.of("handshake", "noaddr", "fail", "disconnected").noneMatch(known::contains);
    }

    private void replicate() {
        for (int i = 0; i < replicas.size(); i++) {
            String master = String.valueOf(masters.get(i % MASTERS).command("CLUSTER", "MYID"));
            replicas.get(i).command("CLUSTER", "REPLICATE", master);
        }
    }

    private boolean isComplete() {
        int count = masters.size() + replicas.size();
        return nodes().allMatch(node -> knowsAll(node, count)
                        && info(node, "CLUSTER", "NODES")
                                        .lines()
                                        .filter(line -> line.contains("slave"))
                                        .count()
                                == replicas.size()
                        && info(node, "CLUSTER", "INFO").contains("cluster_state:ok")
                        && info(node, "CLUSTER", "INFO").contains("cluster_slots_assigned:" + SLOTS))
                && replicas.stream().allMatch(replica -> info(replica, "INFO", "replication")
                        .contains("master_link_status:up"));
    }

    private static String info(RedisServer node, String... command) {
        return String.valueOf(reply(node, command));
    }

    private static @Nullable Object reply(RedisServer node, String... command) {
        try {
            return node.command(command);
        } catch (UncheckedIOException e) {
            // A node that is gone for the moment has no answer
            return null;
        }
    }

    private void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("The nodes of the cluster do not " + what + ": "
                        + nodes().map(node -> info(node, "CLUSTER", "NODES")).toList());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    private Stream<RedisServer> nodes() {
        return Stream.concat(masters.stream(), replicas.stream());
    }
}
