/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Threads that wait for Redis. A caller never waits longer than the limit of its call, whatever the timeouts of the
 * client are; a thread that waits is interrupted then. Each server has threads of its own, because not every client heeds
 * the interrupt: a server that does not answer keeps only its own threads busy.
 */
final class CommandThreads {

    /**
     * One less than Jedis has connections to each server by default, because the subscription may use one: a pool of
     * commons-pool 2.13 without a longest wait spins where more threads than that wait for a server that is silent.
     */
    private static final int THREADS_OF_A_SERVER = 7;

    private final RedisConnectionFactory connections;
    private final CommandTimeout timeouts;
    private final Consumer<RedisConnection> onUsed;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /**
     * Creates it without a thread yet.
     *
     * @param connections where connections come from
     * @param timer ends what lasts too long
     * @param onUsed told of each connection over which a command was answered, on the thread of that command
     */
    CommandThreads(
            RedisConnectionFactory connections, ScheduledExecutorService timer, Consumer<RedisConnection> onUsed) {
        this.connections = connections;
        this.timeouts = new CommandTimeout(timer);
        this.onUsed = onUsed;
    }

    /**
     * Runs a command on a thread.
     *
     * @param server the name of the server that it will be sent to
     * @param what the command, for messages
     * @param limit after which the answer has failed
     * @param command is given a connection, which is closed after it
     */
    <T> CompletableFuture<T> call(
            String server, String what, Duration limit, Function<RedisConnection, @Nullable T> command) {
        CompletableFuture<T> result = new CompletableFuture<>();
        try {
            Future<?> running = threadsOf(server).submit(() -> run(result, what, command));
            timeouts.watch(result, what, limit, () -> running.cancel(true));
        } catch (RejectedExecutionException refusal) {
            result.completeExceptionally(Failures.closed());
        }
        return result;
    }

    /** Refuses further commands. */
    void close() {
        closed = true;
        threads.values().forEach(ExecutorService::shutdown);
    }

    private ExecutorService threadsOf(String server) {
        if (closed) {
            throw new RejectedExecutionException("closed");
        }
        return threads.computeIfAbsent(
                server, name -> DaemonThreads.limited(("lockkeeper-redis " + name).strip(), THREADS_OF_A_SERVER));
    }

    @SuppressWarnings("NullAway") // A null reply is as good as any where it is not read.
    private <T> void run(CompletableFuture<T> result, String what, Function<RedisConnection, @Nullable T> command) {
        if (result.isDone()) {
            return;
        }
        try (RedisConnection connection = connections.getConnection()) {
            result.complete(command.apply(connection));
            onUsed.accept(connection);
        } catch (RuntimeException | Error failure) {
            result.completeExceptionally(Failures.at(what, failure));
        }
    }
}
