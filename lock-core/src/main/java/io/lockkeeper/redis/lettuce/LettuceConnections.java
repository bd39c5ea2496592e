/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.lettuce;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lockkeeper.redis.replication.ReplicatedCommands.DedicatedConnection;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisClusterNode;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.convert.Converters;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClusterConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;
import org.springframework.util.StringUtils;

/**
 * Makes connections as an application makes its own, but outside of its pool.
 */
public final class LettuceConnections {

    private LettuceConnections() {}

    /** Returns a factory that has no pool, and leads to the same servers: the original one where that has none. */
    public static LettuceConnectionFactory outsideOfThePool(
            LettuceConnectionFactory original, RedisConfiguration servers, Duration limit) {
        boolean pooled = original.getClientConfiguration() instanceof LettucePoolingClientConfiguration;
        // A factory for a static list of master and replicas tells the default, and nothing of the list.
        return pooled && !servers.equals(new RedisStandaloneConfiguration())
                ? like(original, servers, limit, true)
                : original;
    }

    /** Returns the settings of the pool from which commands take a connection; null: there is none. */
    public static @Nullable GenericObjectPoolConfig<?> pool(LettuceConnectionFactory factory) {
        return !factory.getShareNativeConnection()
                        && factory.getClientConfiguration() instanceof LettucePoolingClientConfiguration pooling
                ? pooling.getPoolConfig()
                : null;
    }

    /** Asks a server for the nodes of the cluster: the client may have looked for them only when it connected first. */
    public static Iterable<RedisClusterNode> nodes(LettuceClusterConnection connection) {
        try {
            Set<RedisClusterNode> told = Converters.toSetOfRedisClusterNodes(
                    connection.getNativeConnection().clusterNodes().get());
            // A server that has met no other one does not know its address, but the client does.
            boolean addressed = told.stream().allMatch(node -> StringUtils.hasText(node.getHost()));
            return addressed ? told : connection.clusterGetNodes();
        } catch (ExecutionException failure) {
            throw new StoreException("the cluster does not tell its nodes", failure.getCause());
        } catch (InterruptedException tooLate) {
            Thread.currentThread().interrupt();
            throw new StoreException("the cluster did not tell its nodes in time", tooLate);
        }
    }

    private static LettuceConnectionFactory like(
            LettuceConnectionFactory original, RedisConfiguration servers, Duration limit, boolean restored) {
        LettuceConnectionFactory factory =
                new LettuceConnectionFactory(servers, client(original.getClientConfiguration(), limit, restored));
        factory.setShareNativeConnection(false);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    private static LettuceClientConfiguration client(
            LettuceClientConfiguration original, Duration limit, boolean restored) {
        LettuceClientConfiguration.LettuceClientConfigurationBuilder client = LettuceClientConfiguration.builder()
                .commandTimeout(limit)
                .shutdownTimeout(original.getShutdownTimeout())
                .shutdownQuietPeriod(original.getShutdownQuietPeriod());
        ClientOptions options = original.getClientOptions().orElseGet(ClientOptions::create);
        client.clientOptions(
                restored ? options : options.mutate().autoReconnect(false).build());
        original.getClientResources().ifPresent(client::clientResources);
        original.getClientName().ifPresent(client::clientName);
        original.getRedisCredentialsProviderFactory().ifPresent(client::redisCredentialsProviderFactory);
        if (original.isUseSsl()) {
            LettuceClientConfiguration.LettuceSslClientConfigurationBuilder tls =
                    client.useSsl().verifyPeer(original.getVerifyMode());
            if (original.isStartTls()) {
                tls.startTls();
            }
        }
        return client.build();
    }

    /**
     * Returns a connection of its own. It is not restored when it is lost: what it would send again on a new connection
     * would be WAIT alone.
     */
    public static DedicatedConnection dedicated(
            LettuceConnectionFactory original, RedisConfiguration servers, Duration limit) {
        return new DedicatedConnection(() -> like(original, servers, limit, false)) {
            @Override
            protected boolean isAlive(RedisConnection connection) {
                StatefulConnection<?, ?> used = LettuceScripts.connectionOf(connection.getNativeConnection());
                return used == null || used.isOpen();
            }

            @Override
            @SuppressWarnings("unchecked") // The factory was made for byte arrays and one server.
            protected List<? extends @Nullable Object> exchange(RedisConnection connection, List<byte[][]> requests) {
                var commands = (RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection();
                List<CompletableFuture<Object>> replies = requests.stream()
                        .map(request -> dispatch(commands, request))
                        .toList();
                CompletableFuture.allOf(replies.toArray(CompletableFuture<?>[]::new))
                        .orTimeout(limit.toNanos(), TimeUnit.NANOSECONDS)
                        .join();
                return replies.stream().map(CompletableFuture::join).collect(Collectors.toList());
            }
        };
    }

    /** Sends a command, whose reply may be that it was refused. */
    private static CompletableFuture<Object> dispatch(
            RedisClusterAsyncCommands<byte[], byte[]> commands, byte[][] request) {
        CommandType type = CommandType.valueOf(new String(request[0], StandardCharsets.US_ASCII));
        CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
        for (int i = 1; i < request.length; i++) {
            arguments.add(request[i]);
        }
        CommandOutput<byte[], byte[], ?> output =
                switch (type) {
                    case WAIT -> new IntegerOutput<>(ByteArrayCodec.INSTANCE);
                    case ASKING -> new StatusOutput<>(ByteArrayCodec.INSTANCE);
                    default -> new ValueOutput<>(ByteArrayCodec.INSTANCE);
                };
        CompletableFuture<Object> reply = commands.dispatch(type, output, arguments)
                .<Object>thenApply(value -> value)
                .toCompletableFuture();
        return reply.exceptionallyCompose(
                failure -> failure.getCause() instanceof RedisCommandExecutionException refusal
                        ? CompletableFuture.completedFuture(refusal)
                        : reply);
    }
}
