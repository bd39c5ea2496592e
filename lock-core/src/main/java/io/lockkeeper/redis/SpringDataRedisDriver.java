/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisClusterServerCommands;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.ReturnType;

/**
 * A driver over spring-data-redis, for every client and topology that it has. In a cluster the client sends a script to
 * the master of its first key.
 */
final class SpringDataRedisDriver implements RedisDriver {

    private static final Logger log = LoggerFactory.getLogger(SpringDataRedisDriver.class);
    private static final int PREPARATION_FACTOR = 5;

    /**
     * What a holder believes in. The end of a hold may be lost: it ends by itself then. But it goes the same way: while one
     * master takes the place of another, two connections may lead to different ones.
     */
    private static final List<LuaScript> ACKED = List.of(LuaScript.ACQUIRE, LuaScript.HANDOVER, LuaScript.RENEW);

    private final Duration commandTimeout;
    private final CommandThreads threads;
    private final Servers servers = new Servers();
    private final GrantSubscription subscription;
    private final @Nullable AckedCommands acked;

    SpringDataRedisDriver(
            RedisConnectionFactory connections,
            Duration commandTimeout,
            ScheduledExecutorService timer,
            ReplicaAcks acks) {
        this.commandTimeout = commandTimeout;
        this.threads = new CommandThreads(connections, timer);
        this.subscription = new GrantSubscription(connections);
        this.acked = acks.isWanted()
                ? new AckedCommands(
                        OwnConnections.like(connections, commandTimeout),
                        acks,
                        commandTimeout,
                        timer,
                        this::serverFailed)
                : null;
    }

    @Override
    public CompletableFuture<List<Object>> eval(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        byte[][] keysAndArguments = new byte[keys.size() + arguments.size()][];
        for (int i = 0; i < keysAndArguments.length; i++) {
            keysAndArguments[i] = i < keys.size() ? keys.get(i) : arguments.get(i - keys.size());
        }
        if (acked != null && LuaScript.ALL.contains(script)) {
            boolean counts = ACKED.contains(script);
            return eval(acked, keys.get(0), new AckedCommand(script, keys.size(), keysAndArguments, counts));
        }
        return call(keys.get(0), script.name(), connection -> run(connection, script, keys.size(), keysAndArguments));
    }

    private CompletableFuture<List<Object>> eval(AckedCommands onMasters, byte[] key, AckedCommand command) {
        refreshIfDue();
        if (servers.isSingle()) {
            return onMasters.eval(Servers.ANY, command);
        }
        String server = servers.serverOf(key);
        return server.equals(Servers.ANY)
                ? learn().thenCompose(masters -> onMasters.eval(knownServerOf(key), command))
                : onMasters.eval(server, command);
    }

    private String knownServerOf(byte[] key) {
        String server = servers.serverOf(key);
        if (server.equals(Servers.ANY) && !servers.isSingle()) {
            throw new StoreException("no master of the cluster serves this key", null);
        }
        return server;
    }

    private void serverFailed() {
        if (servers.isRefreshSensible()) {
            learnInBackground();
        }
    }

    private static List<Object> run(RedisConnection connection, LuaScript script, int keys, byte[][] arguments) {
        List<Object> reply;
        try {
            reply = connection.scriptingCommands().evalSha(script.sha1(), ReturnType.MULTI, keys, arguments);
        } catch (RuntimeException failure) {
            if (!Failures.says(failure, "NOSCRIPT")) {
                throw failure;
            }
            // Refused before it ran, so it is safe to send again.
            reply = connection.scriptingCommands().eval(bytes(script.source()), ReturnType.MULTI, keys, arguments);
        }
        if (reply == null) {
            throw new StoreException(
                    "script " + script.name() + " gave no reply: is the connection in a transaction?", null);
        }
        return reply;
    }

    @Override
    public CompletableFuture<Long> prepare(List<LuaScript> scripts) {
        // Opens the first connection, which may need more than a command: classes are loaded, names resolved.
        Duration patience = commandTimeout.multipliedBy(PREPARATION_FACTOR);
        return threads.<CompletableFuture<Long>>call(Servers.ANY, "prepare", patience, connection -> {
                    List<Servers.Master> masters = servers.learn(connection);
                    if (!masters.isEmpty()) {
                        return prepareCluster(masters, scripts, patience);
                    }
                    // First: a server that wants a password breaks the connection at so long a text as a script, and
                    // says
                    // so to a short command. TIME, because its right is needed anyway.
                    time(connection);
                    scripts.forEach(script -> load(connection, script));
                    return CompletableFuture.completedFuture(time(connection));
                })
                .thenCompose(Function.identity());
    }

    /** A master that does not answer must not keep the locks of the others: it learns the scripts when it runs them. */
    private CompletableFuture<Long> prepareCluster(
            List<Servers.Master> masters, List<LuaScript> scripts, Duration patience) {
        CompletableFuture<?>[] loads = scripts.stream()
                .map(script ->
                        threads.call(Servers.ANY, "prepare", commandTimeout, connection -> load(connection, script)))
                .toArray(CompletableFuture[]::new);
        CompletableFuture<Boolean> loaded = CompletableFuture.allOf(loads).handle((done, failure) -> failure == null);
        return threads.call(Servers.ANY, "prepare", commandTimeout, connection -> time(connection))
                .exceptionallyCompose(silent -> firstTime(masters, patience))
                .thenCombine(loaded, (time, everywhere) -> time);
    }

    /** Not the usual way, because Lettuce opens further connections for it. */
    private CompletableFuture<Long> firstTime(List<Servers.Master> masters, Duration patience) {
        CompletableFuture<Long> first = new CompletableFuture<>();
        AtomicInteger missing = new AtomicInteger(masters.size());
        for (Servers.Master master : masters) {
            threads.call(master.name(), "prepare", patience, connection -> time(connection, master))
                    .whenComplete((time, failure) -> {
                        if (failure == null) {
                            first.complete(time);
                        } else if (missing.decrementAndGet() == 0) {
                            first.completeExceptionally(failure);
                        }
                    });
        }
        return first;
    }

    /** A user who may not load scripts sends their text now and then. */
    private static @Nullable String load(RedisConnection connection, LuaScript script) {
        try {
            return connection.scriptingCommands().scriptLoad(bytes(script.source()));
        } catch (RuntimeException failure) {
            if (Failures.says(failure, "NOPERM")) {
                return null;
            }
            throw failure;
        }
    }

    private static Long time(RedisConnection connection) {
        return told(connection.serverCommands().time(TimeUnit.MILLISECONDS));
    }

    private static Long time(RedisConnection connection, Servers.Master master) {
        RedisClusterServerCommands servers = ((RedisClusterConnection) connection).serverCommands();
        return told(servers.time(master.node(), TimeUnit.MILLISECONDS));
    }

    private static Long told(@Nullable Long time) {
        if (time == null) {
            throw new StoreException("the server did not tell its time", null);
        }
        return time;
    }

    /** Has a connection looked at each time that a command was answered over it. */
    void onUsed(Consumer<RedisConnection> look) {
        threads.onUsed(look);
    }

    /** Returns what is known of the servers; known after the preparation. */
    Servers servers() {
        return servers;
    }

    @Override
    public int slot(byte[] key) {
        return servers.slot(key);
    }

    @Override
    public String serverOf(byte[] key) {
        return servers.serverOf(key);
    }

    @Override
    public CompletableFuture<List<byte[]>> scan(byte[] pattern, int limit) {
        CompletableFuture<?> known = servers.isSingle() ? CompletableFuture.completedFuture(null) : learn();
        return known.thenCompose(masters -> new KeyScan(this, pattern, limit).onServersOf(servers.routes(pattern)));
    }

    @Override
    public CompletableFuture<List<byte @Nullable []>> get(List<byte[]> keys) {
        byte @Nullable [][] values = new byte[keys.size()][];
        List<CompletableFuture<?>> replies = new ArrayList<>();
        for (int[] batch : SlotBatches.of(keys, servers::slot)) {
            byte[][] names = IntStream.of(batch).mapToObj(keys::get).toArray(byte[][]::new);
            replies.add(call(names[0], "get", connection -> connection
                            .stringCommands()
                            .mGet(names))
                    .thenAccept(
                            found -> IntStream.range(0, batch.length).forEach(i -> values[batch[i]] = found.get(i))));
        }
        return CompletableFuture.allOf(replies.toArray(CompletableFuture[]::new))
                .thenApply(done -> Arrays.asList(values));
    }

    @Override
    public CompletableFuture<Map<String, Properties>> info() {
        return ServerInfo.of(
                servers,
                (server, question) ->
                        threads.call(server, "info", commandTimeout, connection -> question.on(connection)));
    }

    @Override
    public CompletableFuture<Void> set(byte[] key, byte[] value, Duration timeToLive) {
        return call(key, "set", connection -> connection
                        .stringCommands()
                        .setEx(key, Math.max(1, timeToLive.toSeconds()), value))
                .thenAccept(done -> {});
    }

    @Override
    public CompletableFuture<Void> delete(byte[] key) {
        return call(key, "delete", connection -> connection.keyCommands().del(key))
                .thenAccept(done -> {});
    }

    @Override
    public void subscribe(byte[] channel, Consumer<byte[]> onMessage, Runnable onSubscribed) {
        subscription.start(channel, onMessage, onSubscribed);
    }

    @Override
    public @Nullable Instant subscribedSince() {
        return subscription.since();
    }

    @Override
    public void close() {
        subscription.close(commandTimeout);
        threads.close();
        if (acked != null) {
            acked.close();
        }
    }

    private <T> CompletableFuture<T> call(byte[] key, String what, Function<RedisConnection, @Nullable T> command) {
        refreshIfDue();
        return threads.call(servers.serverOf(key), what, commandTimeout, command);
    }

    void refreshIfDue() {
        if (servers.isRefreshDue()) {
            learnInBackground();
        }
    }

    private void learnInBackground() {
        learn().whenComplete((masters, failure) -> {
            if (failure != null) {
                log.debug("The masters of the cluster are not known", failure);
            }
        });
    }

    private CompletableFuture<List<Servers.Master>> learn() {
        return threads.call(Servers.ANY, "cluster nodes", commandTimeout, connection -> servers.learn(connection));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
