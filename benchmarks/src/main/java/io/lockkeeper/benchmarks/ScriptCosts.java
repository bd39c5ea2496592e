/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.params.SetParams;

/**
 * What each step of the protocol costs Redis when commands come in batches: {@code --operations} of each in a round,
 * {@code --rounds}, {@code --only} paths by parts of their names, {@code --out} a folder. In each round all paths have their
 * turn, and a lock without queue, tokens or memory beside them.
 */
final class ScriptCosts {

    private static final int BATCH = 250;
    private static final long LEASE_MILLIS = 30_000;
    private static final String DELETE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

    private final RedisServer redis;
    private final RedisLockStore store;
    private final Jedis raw;
    private final String delete;
    private final String client = ClientIds.next();
    private final Map<String, IntFunction<Integer>> paths = new LinkedHashMap<>();
    private long number;

    private ScriptCosts(RedisServer redis, RedisConnectionFactory connections) {
        this.redis = redis;
        store = new RedisLockStore(connections, RedisLockStore.Options.defaults());
        store.open(
                StoredInstance.ofThisProcess(client, "benchmark", ""),
                Duration.ofMillis(LEASE_MILLIS),
                new WaitingInstances.Silence());
        raw = new Jedis(Connections.HOST, redis.port());
        delete = raw.scriptLoad(DELETE);
        paths.put("raw: SET NX PX, and a script that deletes", this::raw);
        paths.put("pair, known name", round -> pairs(ClaimMode.EXCLUSIVE, "known", 1));
        paths.put("pair, new name", round -> pairs(ClaimMode.EXCLUSIVE, "new" + round + "-" + number, 1));
        paths.put("pair of a reader", round -> pairs(ClaimMode.READ, "read", 1));
        paths.put("pair, two names", round -> pairs(ClaimMode.EXCLUSIVE, "two", 2));
        paths.put("FAIR: place, and release that grants it", this::fair);
        paths.put("hand-over, no waiter", this::handOvers);
        paths.put("poll of a waiter", this::polls);
        paths.put("renewal, each of " + BATCH, this::renewals);
    }

    public static void main(String[] arguments) {
        Settings settings = Settings.of(arguments);
        int operations = settings.number("--operations", 20_000);
        int rounds = settings.number("--rounds", 5);
        Table table = new Table("scripts", settings);
        table.begin(
                "cost of each step in Redis",
                "Microseconds of Redis' processor for each, commands in batches of up to " + BATCH + ", "
                        + operations + " of each path in a round, medians of " + rounds
                        + " interleaved rounds (least, most); the scripts' own time by commandstats beside it.",
                "step",
                "CPU us",
                "least",
                "most",
                "script us");
        try (RedisServer redis = RedisServer.start()) {
            RedisConnectionFactory connections = Connections.jedis(redis.port());
            ScriptCosts costs = new ScriptCosts(redis, connections);
            costs.measure(settings, operations, rounds, table);
            costs.store.close();
            costs.raw.close();
            Connections.close(connections);
        }
        table.plot();
        table.end();
        System.exit(0);
    }

    private void measure(Settings settings, int operations, int rounds, Table table) {
        paths.keySet().removeIf(path -> !settings.takes("--only", path));
        Map<String, List<double[]>> all = new LinkedHashMap<>();
        for (int round = -1; round < rounds; round++) {
            for (Map.Entry<String, IntFunction<Integer>> path : paths.entrySet()) {
                ServerFigures before = ServerFigures.of(redis);
                int done = 0;
                while (done < operations) {
                    done += path.getValue().apply(round + 1);
                }
                ServerFigures used = ServerFigures.of(redis).since(before);
                if (round >= 0) {
                    double[] figures = {
                        used.cpuNanos() / 1e3 / done, (double) used.scripts().micros() / done
                    };
                    all.computeIfAbsent(path.getKey(), name -> new ArrayList<>())
                            .add(figures);
                }
            }
        }
        all.forEach((path, figures) -> {
            double[] cpu = sorted(figures, 0);
            double[] script = sorted(figures, 1);
            table.row(
                    path,
                    !path.startsWith("raw"),
                    cpu[cpu.length / 2],
                    cpu[0],
                    cpu[cpu.length - 1],
                    script[script.length / 2]);
        });
    }

    private static double[] sorted(List<double[]> figures, int column) {
        return figures.stream().mapToDouble(one -> one[column]).sorted().toArray();
    }

    // ---- the paths; each returns how often it was taken ----

    private int raw(int round) {
        Pipeline pipeline = raw.pipelined();
        for (int i = 0; i < BATCH; i++) {
            pipeline.set("raw" + i, "owner" + i, SetParams.setParams().nx().px(LEASE_MILLIS));
        }
        for (int i = 0; i < BATCH; i++) {
            pipeline.evalsha(delete, 1, "raw" + i, "owner" + i);
        }
        pipeline.sync();
        return BATCH;
    }

    private int pairs(ClaimMode mode, String prefix, int names) {
        List<String> attempts = attempts();
        List<AcquireReply> replies = inBatch(
                attempts, (i, attempt) -> store.acquire(command(names(prefix, i, names), attempt, mode, false)));
        require(replies.stream().allMatch(AcquireReply.Acquired.class::isInstance), replies);
        release(attempts, i -> names(prefix, i, names));
        return BATCH;
    }

    private int fair(int round) {
        List<String> holders = attempts();
        inBatch(holders, (i, attempt) -> store.acquire(command(names("fair", i, 1), attempt, ClaimMode.FAIR, true)));
        int steps = 8;
        for (int step = 0; step < steps; step++) {
            List<String> waiters = attempts();
            List<AcquireReply> replies = inBatch(
                    waiters,
                    (i, attempt) -> store.acquire(command(names("fair", i, 1), attempt, ClaimMode.FAIR, true)));
            require(replies.stream().allMatch(AcquireReply.Queued.class::isInstance), replies);
            release(holders, i -> names("fair", i, 1));
            holders = waiters;
        }
        release(holders, i -> names("fair", i, 1));
        return steps * BATCH;
    }

    private int handOvers(int round) {
        List<String> holders = attempts();
        inBatch(
                holders,
                (i, attempt) -> store.acquire(command(names("next", i, 1), attempt, ClaimMode.EXCLUSIVE, false)));
        int steps = 16;
        for (int step = 0; step < steps; step++) {
            List<String> before = holders;
            holders = attempts();
            inBatch(
                    holders,
                    (i, attempt) -> store.handOver(new HandOverCommand(
                            before.get(i),
                            0,
                            command(names("next", i, 1), attempt, ClaimMode.EXCLUSIVE, true),
                            false)));
        }
        release(holders, i -> names("next", i, 1));
        return steps * BATCH;
    }

    private int polls(int round) {
        List<String> holders = attempts();
        List<String> waiters = attempts();
        inBatch(
                holders,
                (i, attempt) -> store.acquire(command(names("poll", i, 1), attempt, ClaimMode.EXCLUSIVE, true)));
        int steps = 16;
        for (int step = 0; step <= steps; step++) {
            inBatch(
                    waiters,
                    (i, attempt) -> store.acquire(command(names("poll", i, 1), attempt, ClaimMode.EXCLUSIVE, true)));
        }
        release(holders, i -> names("poll", i, 1));
        release(waiters, i -> names("poll", i, 1));
        return steps * BATCH;
    }

    private int renewals(int round) {
        List<String> holders = attempts();
        inBatch(
                holders,
                (i, attempt) -> store.acquire(command(names("renew", i, 1), attempt, ClaimMode.EXCLUSIVE, false)));
        List<RenewCommand> commands = IntStream.range(0, BATCH)
                .mapToObj(i -> new RenewCommand("renew" + i + "a", holders.get(i), LEASE_MILLIS, false, 0))
                .toList();
        int steps = 40;
        for (int step = 0; step < steps; step++) {
            CompletableFuture.allOf(store.renew(commands).toArray(CompletableFuture<?>[]::new))
                    .join();
        }
        release(holders, i -> names("renew", i, 1));
        return steps * BATCH;
    }

    // ---- steps ----

    private void release(List<String> attempts, IntFunction<List<String>> names) {
        List<ReleaseReply> replies =
                inBatch(attempts, (i, attempt) -> store.release(new ReleaseCommand(names.apply(i), attempt, 0, 0)));
        require(replies.stream().allMatch(ReleaseReply.RELEASED::equals), replies);
    }

    private List<String> attempts() {
        return IntStream.range(0, BATCH)
                .mapToObj(i -> client + String.format(Locale.ROOT, "%08d", ++number))
                .toList();
    }

    private static List<String> names(String prefix, int i, int names) {
        return Arrays.asList(prefix + i + "a", prefix + i + "b").subList(0, names);
    }

    private static AcquireCommand command(List<String> names, String attempt, ClaimMode mode, boolean queue) {
        return new AcquireCommand(names, attempt, mode, LEASE_MILLIS, queue, 1);
    }

    private static <T> List<T> inBatch(
            List<String> attempts, BiFunction<Integer, String, CompletableFuture<T>> command) {
        List<CompletableFuture<T>> answers = new ArrayList<>();
        for (int i = 0; i < attempts.size(); i++) {
            answers.add(command.apply(i, attempts.get(i)));
        }
        return answers.stream().map(CompletableFuture::join).toList();
    }

    private static void require(boolean expected, List<?> replies) {
        if (!expected) {
            throw new IllegalStateException("Not the expected replies: " + replies);
        }
    }
}
