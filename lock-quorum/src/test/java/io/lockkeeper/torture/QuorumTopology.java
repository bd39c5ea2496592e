/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Three independent masters, one of which fails at a time. */
final class QuorumTopology implements Topology {

    private final List<RedisServer> servers =
            Stream.generate(RedisServer::start).limit(3).toList();

    @Override
    public String address() {
        return servers.stream().map(server -> "" + server.port()).collect(Collectors.joining(","));
    }

    @Override
    public Class<?> worker() {
        return QuorumTortureWorker.class;
    }

    @Override
    public List<Disaster> disasters() {
        return List.of(Disaster.MASTER_DIES, Disaster.MASTER_HANGS, Disaster.MASTER_RESTARTS_EMPTY);
    }

    @Override
    public long suffer(Disaster disaster, Duration lasts, Random random) {
        RedisServer master = servers.get(random.nextInt(servers.size()));
        switch (disaster) {
            case MASTER_DIES -> {
                master.kill();
                Waiting.forSo(lasts);
                master.restart();
            }
            case MASTER_HANGS -> {
                master.pause();
                Waiting.forSo(lasts);
                master.resume();
            }
            case MASTER_RESTARTS_EMPTY -> master.restart();
            default -> throw new IllegalArgumentException("Not of independent masters: " + disaster);
        }
        return System.nanoTime();
    }

    /** Some of the disasters come when the master before gives locks again, a lease and a while after its restart. */
    @Override
    public int calmMillis() {
        return 10_000;
    }

    @Override
    public List<RedisServer> masters() {
        return servers;
    }

    @Override
    public void close() {
        servers.forEach(RedisServer::close);
    }
}
