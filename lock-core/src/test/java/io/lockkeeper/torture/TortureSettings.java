/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.redis.RedisLockStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * What a run does.
 *
 * @param seed of everything that is drawn
 * @param total how long faults are done
 * @param workers how many JVMs
 * @param threads how many threads in each
 * @param names how many locks
 * @param lease how long a lease lasts without a renewal
 * @param faults what is done
 * @param sabotage what is wrong on purpose
 * @param promise what is asked of replicas and restarted servers
 */
record TortureSettings(
        long seed,
        Duration total,
        int workers,
        int threads,
        int names,
        Duration lease,
        List<FaultKind> faults,
        Sabotage sabotage,
        Promise promise) {

    /** What the workers ask of replicas and restarted servers. */
    enum Promise {
        /** Lost writes are lost locks. */
        NONE,

        /** Every replica has a lock before it counts, and a server that was restarted gives none for a lease. */
        ACKNOWLEDGED,

        /** A majority of independent masters has a lock, each of which gives none for a lease after its restart. */
        QUORUM;

        RedisLockStore.Options of(RedisLockStore.Options options) {
            return this == ACKNOWLEDGED
                    ? options.withReplicaAcks("all", Duration.ofMillis(500)).withRestartGuard(true)
                    : options;
        }

        /** Returns the ways of asking that such a store knows. */
        List<Form> forms() {
            return this == QUORUM
                    ? List.of(
                            Form.EXCLUSIVE,
                            Form.FIXED_LEASE,
                            Form.TRY,
                            Form.RETRIES,
                            Form.MINIMUM_HOLD,
                            Form.ASYNC,
                            Form.CANCELLED,
                            Form.INTERRUPTED,
                            Form.RUN)
                    : List.of(Form.values());
        }
    }

    /** What is broken, to show that the checker notices. */
    enum Sabotage {
        NONE,
        /** The register takes whatever anybody writes. */
        UNGUARDED_REGISTER,
        /** Workers take a lease that they were given for one that never ends. */
        ENDLESS_LEASES,
        /** The store gives the lock to everybody. */
        GENEROUS_STORE
    }

    static TortureSettings of(long seed, Duration total) {
        return new TortureSettings(
                seed,
                total,
                4,
                8,
                5,
                Duration.ofMillis(1_500),
                List.of(FaultKind.values()),
                Sabotage.NONE,
                Promise.NONE);
    }

    /** A run over servers that take each other's place, which takes longer than a short lease. */
    static TortureSettings of(long seed, Duration total, Promise promise) {
        return new TortureSettings(seed, total, 4, 6, 5, Duration.ofSeconds(4), List.of(), Sabotage.NONE, promise);
    }

    /** A small run, that ends when something was noticed. */
    static TortureSettings of(Sabotage sabotage, FaultKind... faults) {
        return new TortureSettings(
                1, Duration.ofSeconds(40), 2, 4, 2, Duration.ofSeconds(1), List.of(faults), sabotage, Promise.NONE);
    }

    Duration commandTimeout() {
        return lease.dividedBy(3);
    }

    /** What a worker must know. */
    String toText() {
        return seed + "," + threads + "," + names + "," + lease.toMillis() + "," + sabotage + "," + promise;
    }

    static TortureSettings ofText(String text) {
        List<String> words = Arrays.asList(text.split(",", -1));
        return new TortureSettings(
                Long.parseLong(words.get(0)),
                Duration.ZERO,
                1,
                Integer.parseInt(words.get(1)),
                Integer.parseInt(words.get(2)),
                Duration.ofMillis(Long.parseLong(words.get(3))),
                List.of(),
                Sabotage.valueOf(words.get(4)),
                Promise.valueOf(words.get(5)));
    }
}
