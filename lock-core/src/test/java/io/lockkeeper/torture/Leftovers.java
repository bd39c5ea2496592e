/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** What is left on the server when all workers have ended: locks and descriptions that expire by themselves, soon. */
final class Leftovers {

    private static final Duration TOMBSTONES = Duration.ofSeconds(2);
    private static final long DESCRIPTION_MILLIS = 60_000;

    private final RedisServer server;
    private final TortureSettings settings;

    Leftovers(RedisServer server, TortureSettings settings) {
        this.server = server;
        this.settings = settings;
    }

    List<String> find() {
        List<String> found = new ArrayList<>();
        if (server.command("PUBSUB", "CHANNELS", "lockkeeper*") instanceof List<?> channels && !channels.isEmpty()) {
            found.add("Subscriptions are left: " + channels);
        }
        for (String key : server.keys()) {
            Object life = server.command("PTTL", key);
            // -2: it has expired in between
            if (!(life instanceof Long millis) || millis == -1 || millis > DESCRIPTION_MILLIS) {
                found.add("A key stays for " + life + " ms: " + key);
            }
        }
        if (!locksAreGoneSoon()) {
            locks().forEach(key -> found.add("A lock is left: " + key + " " + server.command("HGETALL", key)));
        }
        return found;
    }

    private List<String> locks() {
        return server.keys().stream().filter(key -> key.contains(":lock:")).toList();
    }

    private boolean locksAreGoneSoon() {
        long end = System.nanoTime()
                + settings.lease()
                        .multipliedBy(2)
                        .plus(TOMBSTONES)
                        .plusSeconds(2)
                        .toNanos();
        while (!locks().isEmpty() && System.nanoTime() < end) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        }
        return locks().isEmpty();
    }
}
