/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.util.Locale;

/** Who holds many locks. */
enum Holders {
    REDISSON,
    LOCKKEEPER_JEDIS,
    LOCKKEEPER_LETTUCE;

    ManyLocks open(int port, long leaseMillis) {
        return switch (this) {
            case REDISSON -> new RedissonLocks(port, leaseMillis);
            case LOCKKEEPER_JEDIS -> new LockkeeperLocks(Connections.jedis(port), leaseMillis);
            case LOCKKEEPER_LETTUCE -> new LockkeeperLocks(Connections.lettuce(port), leaseMillis);
        };
    }

    String title() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** Starts a JVM that holds no locks yet. */
    JavaProcess start(RedisServer redis, long leaseMillis) {
        JavaProcess worker = WorkerLoop.start("1g", HoldingWorker.class, name(), "" + redis.port(), "" + leaseMillis);
        WorkerLoop.awaitReady(worker);
        return worker;
    }
}
