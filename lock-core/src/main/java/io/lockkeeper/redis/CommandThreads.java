/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.DaemonThreads;
import io.lockkeeper.store.StoreException;
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
    private volatile Consumer<RedisConnection> onUsed = used -> {};
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private volatile boolean closed;

    CommandThreads(RedisConnectionFactory connections, ScheduledExecutorService timer) {
        this.connections = connections;
        this.timeouts = new CommandTimeout(timer);
    }

    /** Has a connection looked at each time that a command was answered over it, on the thread of that command. */
    void onUsed(Consumer<RedisConnection> look) {
        onUsed = look;
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
        Future<?> running;
        try {
            running = threadsOf(server).submit(() -> run(result, what, command));
        } catch (RejectedExecutionException refusal) {
            result.completeExceptionally(new StoreException("the lock store is closed", refusal));
            return result;
        }
        timeouts.watch(result, what, limit, () -> running.cancel(true));
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

    @SuppressWarnings("NullAway") // A null reply is as good as any where nobody reads it.
    private <T> void run(CompletableFuture<T> result, String what, Function<RedisConnection, @Nullable T> command) {
        if (result.isDone()) {
            return;
        }
        try (RedisConnection connection = connections.getConnection()) {
            result.complete(command.apply(connection));
            onUsed.accept(connection);
        } catch (StoreException failure) {
            result.completeExceptionally(failure);
        } catch (RuntimeException | Error failure) {
            result.completeExceptionally(
                    new StoreException("Redis failed at " + what + ": " + Failures.rootMessage(failure), failure));
        }
    }
}
