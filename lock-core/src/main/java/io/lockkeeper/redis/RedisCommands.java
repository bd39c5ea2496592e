/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.ClusterTopology.Master;
import io.lockkeeper.redis.jedis.JedisConnections;
import io.lockkeeper.redis.replication.ReplicatedCommands;
import io.lockkeeper.redis.replication.ReplicatedCommands.Acks;
import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/**
 * The few things that the store needs of Redis, over spring-data-redis with every client and topology that it has;
 * scripts over the {@linkplain Clients best way} that there is. Every future is completed within the command timeout,
 * with the reply or with a {@link StoreException}, whatever the timeouts of the client are.
 */
final class RedisCommands implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RedisCommands.class);
    private static final int PREPARATION_FACTOR = 5;
    private static final LuaScript SCAN = LuaScript.of("scan");
    private static final String FIRST_PAGE = "0";
    private static final byte[] PAGE_SIZE = RedisNames.bytes("500");

    /**
     * One less than Jedis has connections to each server by default, because the subscription may use one: a pool of
     * commons-pool 2.13 without a longest wait spins where more threads than that wait for a server that is silent.
     */
    private static final int THREADS_OF_A_SERVER = 7;

    private final Duration commandTimeout;
    private final ScheduledExecutorService timer;
    final ClusterTopology topology = new ClusterTopology();
    final MasterClocks clocks = new MasterClocks();
    private final ScriptRunner scripts;
    final Clients clients;

    /** Each server has its own, because not every client heeds an interrupt: a silent server keeps only these busy. */
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    /** How many connections to a former master a pool may keep, and how many are left of them after a failover. */
    private final int mostStale;

    private final AtomicInteger stale;

    private volatile boolean closed;

    RedisCommands(
            RedisConnectionFactory connections, Duration commandTimeout, ScheduledExecutorService timer, Acks acks) {
        this.commandTimeout = commandTimeout;
        this.timer = timer;
        this.clients = new Clients(connections, commandTimeout);
        this.mostStale = clients.mostIdle();
        this.stale = new AtomicInteger(mostStale);
        if (acks.isWanted()) {
            clients.requireDedicated();
            this.scripts = new ReplicatedCommands(
                    acks,
                    commandTimeout,
                    timer,
                    this::masterOf,
                    clients::dedicated,
                    () -> refreshIf(topology.isOld(true)));
        } else {
            this.scripts = clients.scripts(timer, this::evalAnywhere);
        }
    }

    CompletableFuture<Object> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        refreshIf(topology.isOld(false));
        return scripts.eval(script, keys, arguments, waitNanos);
    }

    /**
     * Makes scripts known to all servers, so that the first run of each needs one request, and returns the clock of one
     * that answers, in ms. May take longer than the command timeout.
     */
    CompletableFuture<Long> prepare(List<LuaScript> all) {
        // Opens the first connection, which may need more than a command: classes are loaded, names resolved.
        Duration patience = commandTimeout.multipliedBy(PREPARATION_FACTOR);
        return this.<CompletableFuture<Long>>call(ClusterTopology.ANY, "prepare", patience, connection -> {
                    if (!topology.learn(connection).isEmpty()) {
                        return prepareCluster(all, patience);
                    }
                    // First: a server that wants a password breaks the connection at so long a text as a script, and
                    // says so to a short command. TIME, because its right is needed anyway.
                    time(connection, Master.ANY);
                    all.forEach(script -> load(connection, script));
                    return CompletableFuture.completedFuture(time(connection, Master.ANY));
                })
                .thenCompose(Function.identity())
                // So that the first lock finds a warm connection. Whether it works is the first lock's affair.
                .thenCompose(time -> scripts.keepAlive().handle((warm, failure) -> time));
    }

    /** A master that does not answer must not keep the locks of the others: it learns the scripts when it runs them. */
    private CompletableFuture<Long> prepareCluster(List<LuaScript> all, Duration patience) {
        CompletableFuture<?> loaded = all(all.stream()
                .map(script ->
                        call(ClusterTopology.ANY, "prepare", commandTimeout, connection -> load(connection, script))));
        CompletableFuture<Long> first = new CompletableFuture<>();
        CompletableFuture<?> heard = compareClocks(patience, first::complete)
                .thenRun(() ->
                        first.completeExceptionally(new StoreException("no master of the cluster answers", null)));
        CompletableFuture<?> compared =
                heard.copy().completeOnTimeout(null, commandTimeout.toMillis(), TimeUnit.MILLISECONDS);
        return first.thenCombine(compared, (time, known) -> time)
                .thenCompose(time -> loaded.handle((done, failure) -> time));
    }

    /** Asks all masters for their clocks, and tells the times, in ms. */
    private CompletableFuture<?> compareClocks(Duration patience, LongConsumer heard) {
        int masters = topology.servers().size();
        return ofEach(
                        "time",
                        patience,
                        (connection, master) -> MasterClocks.Offset.measure(() -> {
                            long time = time(connection, master);
                            heard.accept(time);
                            return time;
                        }))
                .thenAccept(measured -> clocks.measured(measured.values(), measured.size() == masters));
    }

    /** Asks all masters of a cluster, or the only server; completed when each has answered or failed. */
    private <T> CompletableFuture<Map<String, T>> ofEach(
            String what, Duration patience, BiFunction<RedisConnection, Master, T> command) {
        Map<String, T> answers = new ConcurrentHashMap<>();
        return all(topology.servers().stream()
                        .map(master -> call(master.name(), what, patience, it -> command.apply(it, master))
                                .whenComplete((reply, failure) -> {
                                    if (failure == null) {
                                        answers.put(master.name(), reply);
                                    } else {
                                        log.debug("Redis {} does not answer to {}", master.name(), what, failure);
                                    }
                                })))
                .handle((done, failure) -> answers);
    }

    private static CompletableFuture<?> all(Stream<? extends CompletableFuture<?>> futures) {
        return CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new));
    }

    /** False: the user may not load scripts, and their text is sent when a server does not know them. */
    private static Boolean load(RedisConnection connection, LuaScript script) {
        try {
            String hash = connection.scriptingCommands().scriptLoad(RedisNames.bytes(script.source()));
            if (hash != null) {
                script.loadedAs(hash);
            }
            return hash != null;
        } catch (RuntimeException failure) {
            if (Failures.says(failure, "NOPERM")) {
                return false;
            }
            throw failure;
        }
    }

    private static Long time(RedisConnection connection, Master master) {
        Long time = master.node() == null
                ? connection.serverCommands().time(TimeUnit.MILLISECONDS)
                : ((RedisClusterConnection) connection).serverCommands().time(master.node(), TimeUnit.MILLISECONDS);
        if (time == null) {
            throw new StoreException("the server did not tell its time", null);
        }
        return time;
    }

    private static Properties info(RedisConnection connection, Master master) {
        Properties info = master.node() == null
                ? connection.serverCommands().info()
                : ((RedisClusterConnection) connection).serverCommands().info(master.node());
        return info == null ? new Properties() : info;
    }

    /**
     * Finds different keys, up to a limit, on all servers at once, a page at a time. A server with n keys is sent up to
     * n/500 commands. Fails if one of them fails.
     */
    CompletableFuture<List<String>> scan(byte[] pattern, int limit) {
        Set<String> found = Collections.synchronizedSet(new LinkedHashSet<>());
        CompletableFuture<?> known = topology.isSingle() ? CompletableFuture.completedFuture(null) : learn();
        return known.thenCompose(masters -> all(
                        topology.routes(pattern).stream().map(route -> scan(FIRST_PAGE, route, pattern, limit, found))))
                .thenApply(done -> found.stream().limit(limit).toList());
    }

    /**
     * Reads on from a page of the server of a key. Not with the cursors of spring-data-redis: the one over a Jedis
     * cluster goes on to read from a connection that it has given back to the pool, and so takes the answers of other
     * commands.
     */
    private CompletableFuture<?> scan(String page, byte[] route, byte[] pattern, int limit, Set<String> found) {
        List<byte[]> arguments = List.of(RedisNames.bytes(page), pattern, PAGE_SIZE);
        return eval(SCAN, List.of(route), arguments, 0).thenCompose(reply -> {
            // A character for each byte, because lengths are in bytes.
            String text = new String(ScriptReply.text(reply), StandardCharsets.ISO_8859_1);
            int end = text.indexOf('\n');
            String next = text.substring(0, end);
            for (int begin = end + 1; begin < text.length(); begin = end) {
                int colon = text.indexOf(':', begin);
                end = colon + 1 + Integer.parseInt(text.substring(begin, colon));
                byte[] key = text.substring(colon + 1, end).getBytes(StandardCharsets.ISO_8859_1);
                found.add(new String(key, StandardCharsets.UTF_8));
            }
            return found.size() >= limit || next.equals(FIRST_PAGE)
                    ? CompletableFuture.completedFuture(null)
                    : scan(next, route, pattern, limit, found);
        });
    }

    /** Reads the texts that there are under keys. Fails if one of the servers does. */
    CompletableFuture<List<byte[]>> get(List<byte[]> keys) {
        List<CompletableFuture<List<byte[]>>> answers = SlotGroups.of(keys, topology::slot).stream()
                .map(group -> call(group.get(0), "get", connection -> connection
                        .stringCommands()
                        .mGet(group.toArray(byte[][]::new))))
                .toList();
        return all(answers.stream()).thenApply(done -> answers.stream()
                .flatMap(answer -> answer.join().stream())
                .filter(Objects::nonNull)
                .toList());
    }

    /** Asks servers about themselves (INFO), by their names. Those that do not answer are left out. */
    CompletableFuture<Map<String, Properties>> info() {
        return ofEach("info", commandTimeout, RedisCommands::info);
    }

    CompletableFuture<?> set(byte[] key, byte[] value, Duration timeToLive) {
        return call(key, "set", connection -> connection
                .stringCommands()
                .setEx(key, Math.max(1, timeToLive.toSeconds()), value));
    }

    CompletableFuture<?> publish(byte[] channel, byte[] message) {
        return call(channel, "publish", connection -> connection.publish(channel, message));
    }

    CompletableFuture<?> delete(byte[] key) {
        return call(key, "delete", connection -> connection.keyCommands().del(key));
    }

    /** Uses the connection for scripts, before it is idle for too long. */
    void keepAlive() {
        scripts.keepAlive();
    }

    @Override
    public void close() {
        scripts.close();
        closed = true;
        threads.values().forEach(ExecutorService::shutdown);
    }

    private <T> CompletableFuture<T> call(byte[] key, String what, Function<RedisConnection, @Nullable T> command) {
        refreshIf(topology.isOld(false));
        return call(topology.serverOf(key), what, commandTimeout, command);
    }

    /** Runs a command on a thread of the server that it will be sent to; after the limit the thread is interrupted. */
    private <T> CompletableFuture<T> call(
            String server, String what, Duration limit, Function<RedisConnection, @Nullable T> command) {
        CompletableFuture<T> result = new CompletableFuture<>();
        AtomicBoolean given = new AtomicBoolean();
        try {
            if (closed) {
                throw new RejectedExecutionException();
            }
            String name = ("lockkeeper-redis " + server).strip();
            Future<?> running = threads.computeIfAbsent(
                            server, unknown -> DaemonThreads.limited(name, THREADS_OF_A_SERVER))
                    .submit(() -> run(result, given, what, command));
            Failures.after(
                    limit,
                    timer,
                    result,
                    () -> failure(given.getAndSet(true), what, Failures.silence(what, limit)),
                    () -> running.cancel(true));
        } catch (RejectedExecutionException refusal) {
            result.completeExceptionally(Failures.closed());
        }
        return result;
    }

    private static StoreException failure(boolean mayRun, String what, Throwable failure) {
        return mayRun ? Failures.at(what, failure) : Failures.notExecuted(what, failure);
    }

    /**
     * Runs a command, and again if a replica refuses it after a failover: it has written nothing then.
     *
     * @param given whether the client was given the command, or never will be, because its time is over
     */
    private <T> void run(
            CompletableFuture<T> result,
            AtomicBoolean given,
            String what,
            Function<RedisConnection, @Nullable T> command) {
        boolean goesOn = true;
        for (int refusals = 0; goesOn && !result.isDone(); refusals++) {
            try (RedisConnection connection = clients.factory().getConnection()) {
                clients.open(connection);
                boolean isOver = given.getAndSet(true) && refusals == 0;
                goesOn = !isOver && !runs(result, command, connection, refusals);
            } catch (RuntimeException | Error failure) {
                goesOn = false;
                result.completeExceptionally(failure(given.get(), what, failure));
            }
        }
    }

    /** Runs a command over a connection; false: it leads to a replica, and another one may not. */
    @SuppressWarnings("NullAway") // A null reply is as good as any where it is not read.
    private <T> boolean runs(
            CompletableFuture<T> result,
            Function<RedisConnection, @Nullable T> command,
            RedisConnection connection,
            int refusals) {
        try {
            result.complete(command.apply(connection));
            scripts.used(connection);
            if (stale.get() != mostStale) {
                stale.set(mostStale);
            }
            return true;
        } catch (RuntimeException refusal) {
            if (!Failures.isOfReplica(refusal)) {
                throw refusal;
            }
            leave(connection);
            boolean mayBeOneMore = stale.getAndUpdate(count -> Math.max(0, count - 1)) > 0;
            if (refusals > 0 && !mayBeOneMore) {
                throw refusal;
            }
            return false;
        }
    }

    private void leave(RedisConnection connection) {
        if (clients.factory() instanceof JedisConnectionFactory) {
            JedisConnections.leave(connection);
        } else {
            scripts.leave(connection);
        }
    }

    private void refreshIf(boolean old) {
        if (old) {
            learn().whenComplete((masters, failure) -> {
                if (failure != null) {
                    log.debug("The masters of the cluster are not known", failure);
                } else if (!topology.isSingle()) {
                    compareClocks(commandTimeout, time -> {});
                }
            });
        }
    }

    private CompletableFuture<List<Master>> learn() {
        return this.<List<Master>>call(
                        ClusterTopology.ANY, "cluster nodes", commandTimeout, connection -> topology.learn(connection))
                .thenApply(masters -> {
                    if (!masters.isEmpty()) {
                        scripts.retain(masters.stream().map(Master::name).collect(Collectors.toSet()));
                    }
                    return masters;
                });
    }

    /** Returns the name of the server that has a key, which may have to be asked for. */
    private CompletableFuture<String> masterOf(byte[] key) {
        String server = topology.serverOf(key);
        if (topology.isSingle() || !server.equals(ClusterTopology.ANY)) {
            return CompletableFuture.completedFuture(server);
        }
        return learn().thenApply(masters -> {
            String found = topology.serverOf(key);
            if (found.equals(ClusterTopology.ANY) && !topology.isSingle()) {
                throw new StoreException("no master of the cluster serves this key", null);
            }
            return found;
        });
    }

    /** Runs a script over spring-data-redis. In a cluster the client sends it to the master of its first key. */
    private CompletableFuture<Object> evalAnywhere(
            LuaScript script, List<byte[]> keys, List<byte[]> arguments, long waitNanos) {
        byte[][] words = Stream.concat(keys.stream(), arguments.stream()).toArray(byte[][]::new);
        AtomicBoolean mayHaveRun = new AtomicBoolean();
        return call(keys.get(0), script.name(), connection -> {
            Object reply = run(connection, script, keys.size(), words, mayHaveRun);
            if (Failures.isNotHeld(reply) && mayHaveRun.get()) {
                throw Failures.mayHaveRunBefore();
            }
            return reply;
        });
    }

    /** Runs a script, and notes whether the client may have sent it twice: a refused copy may have run before. */
    private @Nullable Object run(
            RedisConnection connection, LuaScript script, int keys, byte[][] words, AtomicBoolean mayHaveRun) {
        Object losses = losses(connection);
        try {
            return connection.scriptingCommands().evalSha(script.sha1(), ReturnType.VALUE, keys, words);
        } catch (RuntimeException failure) {
            if (!Failures.says(failure, "NOSCRIPT")) {
                throw failure;
            }
            // Refused before it ran, so it is safe to send again.
            byte[] source = RedisNames.bytes(script.source());
            return connection.scriptingCommands().eval(source, ReturnType.VALUE, keys, words);
        } finally {
            if (!losses.equals(losses(connection))) {
                mayHaveRun.set(true);
            }
        }
    }

    private Object losses(RedisConnection connection) {
        try {
            return clients.factory() instanceof JedisConnectionFactory
                    ? JedisConnections.losses(connection)
                    : scripts.losses(connection);
        } catch (RuntimeException unknown) {
            // As where there was one; the command says what is wrong.
            return new Object();
        }
    }
}
