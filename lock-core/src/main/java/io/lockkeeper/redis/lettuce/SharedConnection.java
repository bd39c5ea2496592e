/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.lettuce;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.netty.channel.EventLoop;
import io.netty.util.internal.ThreadExecutorMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The application's connection. Lettuce gives each command to the socket alone, in a system call of its own. Here
 * commands wait for the thread of Netty that writes, and what waits by then is written at once.
 */
final class SharedConnection {

    private final StatefulConnection<byte[], byte[]> connection;
    private final boolean combines;
    private final Queue<AsyncCommand<byte[], byte[], ?>> waiting = new ConcurrentLinkedQueue<>();

    /** Whether a flush of the waiting commands is scheduled. */
    private final AtomicBoolean writes = new AtomicBoolean();

    /** The event loop that writes and reads; null: unknown. */
    private volatile @Nullable Executor loop;

    SharedConnection(StatefulConnection<byte[], byte[]> connection) {
        this.connection = connection;
        // One to a cluster may block where it is given several commands. A trace begins on the caller's thread.
        this.combines = connection instanceof StatefulRedisConnection
                && !connection.getResources().tracing().isEnabled();
    }

    boolean isOpen() {
        return connection.isOpen();
    }

    /** Returns whether Lettuce reconnects after a loss. */
    boolean isRestored() {
        return connection.getOptions().isAutoReconnect();
    }

    /** Makes the server close it. */
    void quit() {
        var output = new StatusOutput<>(ByteArrayCodec.INSTANCE);
        dispatch(List.of(new AsyncCommand<>(new Command<>(CommandType.QUIT, output))));
    }

    /** Sends a command, which fails if Lettuce refuses it. */
    void send(AsyncCommand<byte[], byte[], ?> command) {
        Executor writer = loop;
        if (writer == null) {
            dispatch(List.of(command));
            return;
        }
        waiting.add(command);
        if (!writes.get() && writes.compareAndSet(false, true)) {
            try {
                writer.execute(this::write);
            } catch (RejectedExecutionException ended) {
                write();
            }
        }
    }

    private void write() {
        // Before it looks: what comes later has it look again.
        writes.set(false);
        List<AsyncCommand<byte[], byte[], ?>> together = new ArrayList<>();
        for (AsyncCommand<byte[], byte[], ?> next = waiting.poll(); next != null; next = waiting.poll()) {
            together.add(next);
        }
        if (!together.isEmpty()) {
            dispatch(together);
        }
    }

    private void dispatch(List<AsyncCommand<byte[], byte[], ?>> together) {
        try {
            if (together.size() == 1) {
                connection.dispatch(together.get(0));
            } else {
                connection.dispatch(together);
            }
        } catch (RuntimeException refusal) {
            together.forEach(command -> command.completeExceptionally(refusal));
        }
    }

    /** Records the event loop, on its thread; after a reconnect it may be another one. */
    void answered() {
        if (combines) {
            try {
                loop = ThreadExecutorMap.currentExecutor() instanceof EventLoop reading ? reading : null;
            } catch (LinkageError unknown) {
                // Netty calls this class internal. Without it, each command is written alone.
                loop = null;
            }
        }
    }
}
