/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;

/** Three masters of a cluster, each with a replica. */
final class ClusterTopology implements Topology {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SETTLED = Duration.ofSeconds(2);

    /** A move takes so long that commands come in between. */
    private static final Duration MOVE = Duration.ofMillis(200);

    private final RedisCluster cluster = RedisCluster.start(1, "--cluster-node-timeout", "1500");
    private final List<String> names;

    /** Where each name has been: a slot that comes back to a master is what guarantees.md warns of. */
    private final Set<String> places = new HashSet<>();

    ClusterTopology(int names) {
        this.names = IntStream.range(0, names)
                .mapToObj(i -> "lockkeeper:lock:torture-" + i)
                .toList();
    }

    @Override
    public String address() {
        return "cluster:" + cluster.ports().stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    @Override
    public List<Disaster> disasters() {
        return List.of(Disaster.values());
    }

    @Override
    public void suffer(Disaster disaster, Duration lasts, Random random) {
        String name = names.get(random.nextInt(names.size()));
        RedisServer master = masterOf(name);
        RedisServer replica = partnerOf(master);
        switch (disaster) {
            case MASTER_DIES -> {
                master.kill();
                awaitMaster(replica);
                master.restart();
            }
            case MASTER_HANGS -> {
                master.pause();
                Waiting.forSo(lasts);
                master.resume();
            }
            case FAILOVER -> {
                replica.command("CLUSTER", "FAILOVER", "TAKEOVER");
                awaitMaster(replica);
            }
            case STALE_REPLICA_TAKES_OVER -> {
                cutOff(master, replica, lasts);
                master.kill();
                replica.resume();
                Awaitility.await().ignoreExceptions().until(() -> "OK"
                        .equals(replica.command("CLUSTER", "FAILOVER", "TAKEOVER")));
                awaitMaster(replica);
                master.restart();
            }
            case REPLICAS_ARE_CUT_OFF -> {
                cutOff(master, replica, lasts);
                replica.resume();
            }
            case MASTER_RESTARTS_EMPTY -> master.restart();
            case DATA_IS_FLUSHED -> master.command("FLUSHALL");
            case SLOT_MOVES -> move(name, master, random);
        }
        awaitWell();
    }

    private static void cutOff(RedisServer master, RedisServer replica, Duration lasts) {
        replica.pause();
        // What is on its way to a stopped process would arrive when it goes on.
        master.command("CLIENT", "KILL", "TYPE", "replica");
        Waiting.forSo(lasts);
    }

    /** Moves a slot to a pair of servers that never had it; where there is none any more, does nothing. */
    private void move(String name, RedisServer from, Random random) {
        places.add(name + " " + pair(from));
        List<RedisServer> others = new ArrayList<>(masters());
        others.removeIf(master -> places.contains(name + " " + pair(master)));
        if (!others.isEmpty()) {
            RedisServer target = others.get(random.nextInt(others.size()));
            places.add(name + " " + pair(target));
            cluster.beginMove(name, from, target);
            Waiting.forSo(MOVE);
            cluster.finishMove(name, from, target, masters());
        }
    }

    private int pair(RedisServer server) {
        int index = cluster.masters().indexOf(server);
        return index >= 0 ? index : cluster.replicas().indexOf(server);
    }

    private RedisServer partnerOf(RedisServer server) {
        int index = cluster.masters().indexOf(server);
        return index >= 0
                ? cluster.replicas().get(index)
                : cluster.masters().get(cluster.replicas().indexOf(server));
    }

    private static boolean isMaster(RedisServer server) {
        try {
            return server.isRunning()
                    && String.valueOf(server.command("INFO", "replication")).contains("role:master");
        } catch (UncheckedIOException gone) {
            return false;
        }
    }

    private static void awaitMaster(RedisServer server) {
        Awaitility.await().atMost(PATIENCE).until(() -> isMaster(server));
    }

    /** The master that answers for a key, and sends no one elsewhere. */
    private RedisServer masterOf(String key) {
        for (RedisServer master : masters()) {
            try {
                master.command("EXISTS", key);
                return master;
            } catch (RuntimeException moved) {
                // The next one.
            }
        }
        throw new IllegalStateException("No master has " + key);
    }

    private void awaitWell() {
        // An election may go on although the master came back.
        Awaitility.await().atMost(PATIENCE).during(SETTLED).ignoreExceptions().until(() -> {
            cluster.awaitServing();
            List<RedisServer> masters = masters();
            return masters.size() == cluster.masters().size()
                    && masters.stream().allMatch(master -> String.valueOf(master.command("INFO", "replication"))
                            .contains("state=online"))
                    && masters.stream().map(this::pair).distinct().count() == masters.size();
        });
    }

    @Override
    public List<RedisServer> masters() {
        List<RedisServer> all = new ArrayList<>(cluster.masters());
        all.addAll(cluster.replicas());
        return all.stream().filter(ClusterTopology::isMaster).toList();
    }

    @Override
    public void close() {
        cluster.close();
    }
}
