/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Knows which servers have run for long enough to remember all locks. A server has another run id after each start. How
 * long a run lasts is measured here, by the monotonic clock: the uptime that a server tells grows with each step of its
 * wall clock, and is believed only of the first run of a server that this client meets.
 */
final class RestartGuard {

    /** What Redis 6.2, 7.0, and 7.2 on say of a command that a script's user may not run, or that was removed. */
    private static final List<String> REFUSALS =
            List.of("can't run this command", "has no permissions to run the 'info", "Unknown Redis command");

    private final long leastNanos;
    private final LongSupplier nanoTime;
    private final Map<String, Run> runs = new ConcurrentHashMap<>();

    RestartGuard(Duration least, LongSupplier nanoTime) {
        this.leastNanos = least.toNanos();
        this.nanoTime = nanoTime;
    }

    /** Returns the run id with which a server gives locks; empty: with none yet. */
    String oldRun(String server) {
        Run run = runs.get(server);
        return run != null && isOld(run) ? run.id : "";
    }

    /**
     * Takes in which run of a server has answered.
     *
     * @return whether it has lasted for long enough
     */
    boolean saw(String server, String id, long uptimeSeconds) {
        long now = nanoTime.getAsLong();
        return isOld(runs.compute(server, (name, known) -> {
            if (known != null && known.id.equals(id)) {
                return known;
            }
            boolean old = known == null && TimeUnit.SECONDS.toNanos(uptimeSeconds) >= leastNanos;
            return new Run(id, old ? now - leastNanos : now);
        }));
    }

    /** Takes in what servers say of themselves. */
    void saw(Map<String, Properties> servers) {
        servers.forEach((server, info) -> {
            String id = info.getProperty("run_id");
            if (id != null) {
                saw(server, id, Long.parseLong(info.getProperty("uptime_in_seconds", "0")));
            }
        });
    }

    private boolean isOld(Run run) {
        return nanoTime.getAsLong() - run.sinceNanos >= leastNanos;
    }

    /** Explains the one failure that only a store with a restart guard has: its acquire script runs INFO. */
    static <T> CompletableFuture<T> explain(CompletableFuture<T> answer) {
        return answer.exceptionallyCompose(failure -> CompletableFuture.failedFuture(
                REFUSALS.stream().noneMatch(refusal -> Failures.says(failure, refusal))
                        ? failure
                        : new StoreException(
                                "the restart guard of a quorum asks each master by INFO how long it has run: permit its"
                                        + " Redis user to run INFO (ACL +info). " + Failures.rootMessage(failure),
                                failure)));
    }

    /** One run of a server, and since when it is known to last. */
    private record Run(String id, long sinceNanos) {}
}
