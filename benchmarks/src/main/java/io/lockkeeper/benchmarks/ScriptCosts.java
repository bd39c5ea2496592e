/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
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
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.params.SetParams;

/**
 * What each step of the protocol costs Redis when commands come in batches: {@code --operations} of each in a round,
 * {@code --rounds}, {@code --only} paths by parts of their names, {@code --out} a folder. In each round all paths have
 * their turn, and a lock without queue, tokens or memory beside them.
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
    private final Map<String, IntFunction<ServerFigures>> paths = new LinkedHashMap<>();
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
        paths.put("pair, known name", batches -> pairs(batches, ClaimMode.EXCLUSIVE, () -> "known", 1));
        paths.put("pair, new name", batches -> pairs(batches, ClaimMode.EXCLUSIVE, () -> "new" + number, 1));
        paths.put("pair of a reader", batches -> pairs(batches, ClaimMode.READ, () -> "read", 1));
        paths.put("pair, two names", batches -> pairs(batches, ClaimMode.EXCLUSIVE, () -> "two", 2));
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
        int batches = Math.max(1, operations / BATCH);
        Map<String, List<double[]>> all = new LinkedHashMap<>();
        for (int round = -1; round < rounds; round++) {
            for (Map.Entry<String, IntFunction<ServerFigures>> path : paths.entrySet()) {
                ServerFigures used = path.getValue().apply(batches);
                if (round >= 0) {
                    double done = (double) batches * BATCH;
                    double[] figures = {
                        used.cpuNanos() / 1e3 / done, used.scripts().micros() / done
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

    // ---- the paths; each returns what so many batches of it cost, without what came before and after them ----

    private ServerFigures cost(int batches, Runnable batch) {
        ServerFigures before = ServerFigures.of(redis);
        for (int i = 0; i < batches; i++) {
            batch.run();
        }
        return ServerFigures.of(redis).since(before);
    }

    private ServerFigures raw(int batches) {
        return cost(batches, () -> {
            Pipeline pipeline = raw.pipelined();
            for (int i = 0; i < BATCH; i++) {
                pipeline.set("raw" + i, "owner" + i, SetParams.setParams().nx().px(LEASE_MILLIS));
            }
            for (int i = 0; i < BATCH; i++) {
                pipeline.evalsha(delete, 1, "raw" + i, "owner" + i);
            }
            pipeline.sync();
        });
    }

    private ServerFigures pairs(int batches, ClaimMode mode, Supplier<String> prefixes, int names) {
        return cost(batches, () -> {
            String prefix = prefixes.get();
            release(acquire(prefix, mode, names, AcquireReply.Acquired.class), prefix, names);
        });
    }

    private ServerFigures fair(int batches) {
        AtomicReference<List<String>> holders =
                new AtomicReference<>(acquire("fair", ClaimMode.FAIR, 1, AcquireReply.Acquired.class));
        ServerFigures cost = cost(batches, () -> {
            List<String> waiters = acquire("fair", ClaimMode.FAIR, 1, AcquireReply.Queued.class);
            release(holders.getAndSet(waiters), "fair", 1);
        });
        release(holders.get(), "fair", 1);
        return cost;
    }

    private ServerFigures handOvers(int batches) {
        AtomicReference<List<String>> holders =
                new AtomicReference<>(acquire("next", ClaimMode.EXCLUSIVE, 1, AcquireReply.Acquired.class));
        ServerFigures cost = cost(batches, () -> {
            List<String> next = attempts();
            List<String> before = holders.getAndSet(next);
            List<HandOverReply> replies = inBatch(
                    next,
                    (i, attempt) -> store.handOver(new HandOverCommand(
                            before.get(i), 0, command(names("next", i, 1), attempt, ClaimMode.EXCLUSIVE), false)));
            require(replies.stream().allMatch(HandOverReply::wasHeld), replies);
        });
        release(holders.get(), "next", 1);
        return cost;
    }

    private ServerFigures polls(int batches) {
        List<String> holders = acquire("poll", ClaimMode.EXCLUSIVE, 1, AcquireReply.Acquired.class);
        List<String> waiters = acquire("poll", ClaimMode.EXCLUSIVE, 1, AcquireReply.Queued.class);
        ServerFigures cost =
                cost(batches, () -> acquire(waiters, "poll", ClaimMode.EXCLUSIVE, 1, AcquireReply.Queued.class));
        release(holders, "poll", 1);
        release(waiters, "poll", 1);
        return cost;
    }

    private ServerFigures renewals(int batches) {
        List<String> holders = acquire("renew", ClaimMode.EXCLUSIVE, 1, AcquireReply.Acquired.class);
        List<RenewCommand> commands = IntStream.range(0, BATCH)
                .mapToObj(i -> new RenewCommand(names("renew", i, 1).get(0), holders.get(i), LEASE_MILLIS, false, 0))
                .toList();
        ServerFigures cost = cost(batches, () -> {
            List<Boolean> held =
                    store.renew(commands).stream().map(CompletableFuture::join).toList();
            require(held.stream().allMatch(Boolean::booleanValue), held);
        });
        release(holders, "renew", 1);
        return cost;
    }

    // ---- steps ----

    private List<String> acquire(String prefix, ClaimMode mode, int names, Class<? extends AcquireReply> expected) {
        List<String> attempts = attempts();
        acquire(attempts, prefix, mode, names, expected);
        return attempts;
    }

    private void acquire(
            List<String> attempts, String prefix, ClaimMode mode, int names, Class<? extends AcquireReply> expected) {
        List<AcquireReply> replies =
                inBatch(attempts, (i, attempt) -> store.acquire(command(names(prefix, i, names), attempt, mode)));
        require(replies.stream().allMatch(expected::isInstance), replies);
    }

    private void release(List<String> attempts, String prefix, int names) {
        List<ReleaseReply> replies = inBatch(
                attempts, (i, attempt) -> store.release(new ReleaseCommand(names(prefix, i, names), attempt, 0, 0)));
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

    private static AcquireCommand command(List<String> names, String attempt, ClaimMode mode) {
        return new AcquireCommand(names, attempt, mode, LEASE_MILLIS, true, 1);
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
