/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisSentinel;
import io.lockkeeper.testing.RedisServer;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;

/** A master with two replicas, and three sentinels. */
final class SentinelTopology implements Topology {

    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration SETTLED = Duration.ofSeconds(2);

    private final RedisSentinel sentinel = RedisSentinel.start();

    @Override
    public String address() {
        return "sentinel:" + sentinel.ports().stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    @Override
    public List<Disaster> disasters() {
        return List.of(
                Disaster.MASTER_DIES,
                Disaster.MASTER_HANGS,
                Disaster.FAILOVER,
                Disaster.STALE_REPLICA_TAKES_OVER,
                Disaster.REPLICAS_ARE_CUT_OFF,
                Disaster.MASTER_RESTARTS_EMPTY,
                Disaster.DATA_IS_FLUSHED);
    }

    @Override
    public long suffer(Disaster disaster, Duration lasts, Random random) {
        RedisServer master = sentinel.master();
        List<RedisServer> replicas =
                sentinel.servers().stream().filter(server -> server != master).toList();
        switch (disaster) {
            case MASTER_DIES -> replace(master);
            case MASTER_HANGS -> {
                master.pause();
                Waiting.forSo(lasts);
                master.resume();
            }
            case FAILOVER -> sentinel.failover();
            case STALE_REPLICA_TAKES_OVER -> {
                cutOff(master, replicas, lasts);
                master.kill();
                replicas.forEach(RedisServer::resume);
                sentinel.awaitOtherMaster(master);
                master.restart();
            }
            case REPLICAS_ARE_CUT_OFF -> {
                cutOff(master, replicas, lasts);
                replicas.forEach(RedisServer::resume);
            }
            case MASTER_RESTARTS_EMPTY -> {
                master.restart();
                // One that was started as a replica is a master all the same.
                master.command("REPLICAOF", "NO", "ONE");
            }
            case DATA_IS_FLUSHED -> master.command("FLUSHALL");
            case SLOT_MOVES -> throw new IllegalArgumentException("There are no slots");
        }
        return awaitWell();
    }

    private void replace(RedisServer master) {
        master.kill();
        sentinel.awaitOtherMaster(master);
        master.restart();
    }

    private static void cutOff(RedisServer master, List<RedisServer> replicas, Duration lasts) {
        replicas.forEach(RedisServer::pause);
        // What is on its way to a stopped process would arrive when it goes on.
        master.command("CLIENT", "KILL", "TYPE", "replica");
        Waiting.forSo(lasts);
    }

    private long awaitWell() {
        MasterWatch watch = new MasterWatch();
        Awaitility.await()
                .atMost(PATIENCE)
                // A failover may go on although the master came back.
                .during(SETTLED)
                .ignoreExceptionsInstanceOf(UncheckedIOException.class)
                .ignoreExceptionsInstanceOf(NoSuchElementException.class)
                .until(() -> {
                    List<RedisServer> masters = watch.look(sentinel.servers());
                    RedisServer master = sentinel.master();
                    if (masters.contains(master)) {
                        // A sentinel does this, too, but takes its time.
                        masters.stream().filter(other -> other != master).forEach(other -> demote(other, master));
                    }
                    return sentinel.isSettled()
                            && masters.equals(List.of(master))
                            && String.valueOf(master.command("INFO", "replication"))
                                            .split("state=online", -1)
                                            .length
                                    == 3;
                });
        return watch.since();
    }

    /** As a sentinel does it, which closes all connections: Lettuce would keep one to a server that takes no writes. */
    private static void demote(RedisServer old, RedisServer master) {
        old.command("REPLICAOF", master.host(), "" + master.port());
        old.command("CLIENT", "KILL", "TYPE", "normal");
        old.command("CLIENT", "KILL", "TYPE", "pubsub");
    }

    @Override
    public List<RedisServer> masters() {
        return List.of(sentinel.master());
    }

    @Override
    public void close() {
        sentinel.close();
    }
}
