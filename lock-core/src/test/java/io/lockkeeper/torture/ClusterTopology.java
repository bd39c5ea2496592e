/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** Three masters of a cluster, each with a replica. */
final class ClusterTopology implements Topology {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SETTLED = Duration.ofSeconds(2);

    /** A move takes so long that commands come in between. */
    private static final Duration MOVE = Duration.ofMillis(200);

    private final RedisCluster cluster = RedisCluster.start(1, "--cluster-node-timeout", "1500");
    private final List<String> names;

    /**
     * Which pairs of servers each name has been on: a slot that comes back to a master is what guarantees.md warns of.
     */
    private final Map<String, Set<Integer>> places = new HashMap<>();

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
        return Stream.of(Disaster.values())
                .filter(disaster ->
                        disaster != Disaster.SLOT_MOVES || !movable().isEmpty())
                .toList();
    }

    /** The names that have not been on all masters yet. */
    private List<String> movable() {
        return names.stream()
                .filter(name -> places.getOrDefault(name, Set.of()).size()
                        < cluster.masters().size())
                .toList();
    }

    @Override
    public long suffer(Disaster disaster, Duration lasts, Random random) {
        List<String> choice = disaster == Disaster.SLOT_MOVES ? movable() : names;
        String name = choice.get(random.nextInt(choice.size()));
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
        return awaitWell();
    }

    private static void cutOff(RedisServer master, RedisServer replica, Duration lasts) {
        replica.pause();
        // What is on its way to a stopped process would arrive when it goes on.
        master.command("CLIENT", "KILL", "TYPE", "replica");
        Waiting.forSo(lasts);
    }

    /** Moves a slot to a pair of servers that never had it. */
    private void move(String name, RedisServer from, Random random) {
        Set<Integer> been = places.computeIfAbsent(name, unmoved -> new HashSet<>());
        been.add(pair(from));
        List<RedisServer> others = new ArrayList<>(masters());
        others.removeIf(master -> been.contains(pair(master)));
        RedisServer target = others.get(random.nextInt(others.size()));
        been.add(pair(target));
        cluster.beginMove(name, from, target);
        Waiting.forSo(MOVE);
        cluster.finishMove(name, from, target, masters());
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

    private static void awaitMaster(RedisServer server) {
        Awaitility.await().atMost(PATIENCE).until(() -> MasterWatch.isMaster(server));
    }

    /** The master that answers for a key, and sends no one elsewhere. */
    RedisServer masterOf(String key) {
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

    private long awaitWell() {
        MasterWatch watch = new MasterWatch();
        // An election may go on although the master came back.
        Awaitility.await().atMost(PATIENCE).during(SETTLED).ignoreExceptions().until(() -> {
            List<RedisServer> masters = watch.look(servers());
            cluster.awaitServing();
            return masters.size() == cluster.masters().size()
                    && masters.stream().allMatch(master -> String.valueOf(master.command("INFO", "replication"))
                            .contains("state=online"))
                    && masters.stream().map(this::pair).distinct().count() == masters.size();
        });
        return watch.since();
    }

    @Override
    public List<RedisServer> masters() {
        return servers().stream().filter(MasterWatch::isMaster).toList();
    }

    private List<RedisServer> servers() {
        return Stream.concat(cluster.masters().stream(), cluster.replicas().stream())
                .toList();
    }

    @Override
    public void close() {
        cluster.close();
    }
}
