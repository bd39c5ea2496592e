/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisClusterNode;
import org.springframework.data.redis.connection.RedisConnection;

/**
 * What is known of the servers behind a connection factory: that there is only one, or which masters of a cluster have
 * which slots. This may be out of date and costs nothing but speed then, because clients find the server of a key by
 * themselves.
 */
final class ClusterTopology {

    /** The name of a server that is not known yet, or does not matter. */
    static final String ANY = "";

    private static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long MIN_REFRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private static final Pattern GLOB = Pattern.compile("[*?\\[\\\\]");

    /** This many keys hit each of the 16,384 slots almost certainly. */
    private static final int ROUTES_TRIED = 200_000;

    private final AtomicLong learned = new AtomicLong(System.nanoTime() - REFRESH_NANOS);
    private volatile boolean single;
    private volatile List<Master> masters = List.of();

    /** Learns the masters from a connection, which may ask a server, and returns them; empty: no cluster. */
    List<Master> learn(RedisConnection connection) {
        learned.set(System.nanoTime());
        if (connection instanceof RedisClusterConnection cluster) {
            masters = StreamSupport.stream(Clients.nodesOf(cluster).spliterator(), false)
                    .filter(node ->
                            node.isMaster() && !node.getSlotRange().getSlots().isEmpty())
                    .map(node -> new Master(node.asString(), node))
                    .toList();
        } else {
            single = true;
        }
        return masters;
    }

    /** Returns whether it is time to {@link #learn} again: soon after a failure, but not in quick succession. */
    boolean isOld(boolean afterFailure) {
        long last = learned.get();
        long now = System.nanoTime();
        long age = afterFailure ? MIN_REFRESH_NANOS : REFRESH_NANOS;
        return !single && now - last >= age && learned.compareAndSet(last, now);
    }

    boolean isSingle() {
        return single;
    }

    List<Master> servers() {
        return single ? List.of(Master.ANY) : masters;
    }

    /** Returns the slot of a key; the same for all keys if there is only one server. */
    int slot(byte[] key) {
        return single ? 0 : ClusterSlotHashUtil.calculateSlot(key);
    }

    String serverOf(byte[] key) {
        if (single) {
            return ANY;
        }
        int slot = slot(key);
        for (Master master : masters) {
            if (master.serves(slot)) {
                return master.name;
            }
        }
        return ANY;
    }

    /**
     * Returns for each server one key that it has and that begins as all matches of a pattern do. A server that can
     * have no such key is left out: it has no match either.
     */
    List<byte[]> routes(byte[] pattern) {
        if (!single && masters.isEmpty()) {
            throw new StoreException("the masters of the cluster are not known", null);
        }
        String begin = GLOB.split(new String(pattern, StandardCharsets.UTF_8), 2)[0];
        // Only a hash tag gives two keys with different last bits one slot.
        if (slot(RedisNames.bytes(begin + 0)) == slot(RedisNames.bytes(begin + 1))) {
            return List.of(RedisNames.bytes(begin));
        }
        List<Master> missing = new ArrayList<>(masters);
        List<byte[]> routes = new ArrayList<>();
        for (int i = 0; i < ROUTES_TRIED && !missing.isEmpty(); i++) {
            byte[] key = RedisNames.bytes(begin + i);
            if (missing.removeIf(master -> master.serves(slot(key)))) {
                routes.add(key);
            }
        }
        return routes;
    }

    /** A master of a cluster under the name of its address, or the only server. */
    record Master(String name, @Nullable RedisClusterNode node) {

        static final Master ANY = new Master(ClusterTopology.ANY, null);

        boolean serves(int slot) {
            return node != null && node.servesSlot(slot);
        }
    }
}
