/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * A connection to one server, used by one thread at a time. What is sent over it runs in this order, and is never sent again
 * by the client. So an answer to WAIT is about the commands before it, which it would not be on another connection: that
 * has written nothing, and waits for nothing.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 */
public abstract class DedicatedConnection {

    private final Supplier<? extends RedisConnectionFactory> factories;
    private @Nullable RedisConnectionFactory factory;
    private @Nullable RedisConnection open;

    /** Creates it without a connection yet, of a factory that has no other user. */
    protected DedicatedConnection(Supplier<? extends RedisConnectionFactory> factories) {
        this.factories = factories;
    }

    /**
     * Sends EVALSHA, EVAL, WAIT and ASKING together, in this order, and waits for all replies; one may be the exception of
     * a command that was refused. Throws where the connection failed: nothing is known of the commands then.
     */
    protected abstract List<Object> exchange(RedisConnection connection, List<byte[][]> commands);

    final List<Object> exchange(List<byte[][]> commands) {
        RedisConnection connection = open;
        if (connection == null) {
            RedisConnectionFactory made = factory;
            if (made == null) {
                made = factories.get();
                factory = made;
            }
            connection = made.getConnection();
            open = connection;
        }
        return exchange(connection, commands);
    }

    /** Ends the connection; the next command makes another one. */
    final void disconnect() {
        RedisConnection connection = open;
        open = null;
        if (connection != null) {
            try {
                connection.close();
            } catch (RuntimeException ignored) {
                // It is as good as closed.
            }
        }
    }

    final void close() {
        disconnect();
        try {
            if (factory instanceof DisposableBean made) {
                made.destroy();
            }
        } catch (Exception ignored) {
            // It is as good as closed.
        }
    }
}
