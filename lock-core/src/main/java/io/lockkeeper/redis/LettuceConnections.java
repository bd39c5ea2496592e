/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.RedisCredentialsProviderFactory;

/** Connections of Lettuce that are not restored: what they would send again on a new connection would be WAIT alone. */
final class LettuceConnections implements OwnConnections {

    private final LettuceConnectionFactory original;
    private final LettuceClientConfiguration client;
    private final Map<String, LettuceConnectionFactory> factories = new ConcurrentHashMap<>();

    private LettuceConnections(LettuceConnectionFactory original, Duration limit) {
        this.original = original;
        this.client = new NotRestored(original.getClientConfiguration(), limit);
    }

    static boolean areLike(RedisConnectionFactory connections) {
        return connections instanceof LettuceConnectionFactory lettuce && lettuce.getSocketConfiguration() == null;
    }

    static LettuceConnections like(RedisConnectionFactory connections, Duration limit) {
        return new LettuceConnections((LettuceConnectionFactory) connections, limit);
    }

    @Override
    @SuppressWarnings("unchecked") // The factory was made for byte arrays and one server.
    public OwnConnection open(String server) {
        RedisConnection connection =
                factories.computeIfAbsent(server, this::factory).getConnection();
        Object commands = connection.getNativeConnection();
        return new Commands(
                connection, (RedisClusterAsyncCommands<byte[], byte[]>) commands, client.getCommandTimeout());
    }

    private LettuceConnectionFactory factory(String server) {
        LettuceConnectionFactory factory;
        if (original.getClusterConfiguration() != null) {
            factory =
                    new LettuceConnectionFactory(ServerAddress.of(server, original.getClusterConfiguration()), client);
        } else if (original.getSentinelConfiguration() != null) {
            factory = new LettuceConnectionFactory(original.getSentinelConfiguration(), client);
        } else {
            factory = new LettuceConnectionFactory(original.getStandaloneConfiguration(), client);
        }
        factory.setShareNativeConnection(false);
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    @Override
    public void close() {
        factories.values().forEach(LettuceConnectionFactory::destroy);
    }

    private record Commands(
            RedisConnection connection, RedisClusterAsyncCommands<byte[], byte[]> commands, Duration limit)
            implements OwnConnection {

        @Override
        public List<@Nullable Object> exchange(List<byte[][]> requests) {
            List<RedisFuture<?>> answers = new ArrayList<>();
            for (byte[][] request : requests) {
                answers.add(dispatch(request));
            }
            long end = System.nanoTime() + limit.toNanos();
            List<@Nullable Object> replies = new ArrayList<>();
            for (RedisFuture<?> answer : answers) {
                replies.add(reply(answer, end));
            }
            return replies;
        }

        private RedisFuture<?> dispatch(byte[][] request) {
            CommandType type = CommandType.valueOf(new String(request[0], StandardCharsets.US_ASCII));
            CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
            for (int i = 1; i < request.length; i++) {
                arguments.add(request[i]);
            }
            return switch (type) {
                case WAIT -> commands.dispatch(type, new IntegerOutput<>(ByteArrayCodec.INSTANCE), arguments);
                case ASKING -> commands.dispatch(type, new StatusOutput<>(ByteArrayCodec.INSTANCE), arguments);
                default -> commands.dispatch(type, new NestedMultiOutput<>(ByteArrayCodec.INSTANCE), arguments);
            };
        }

        private static @Nullable Object reply(RedisFuture<?> answer, long end) {
            try {
                return answer.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
            } catch (ExecutionException failure) {
                if (failure.getCause() instanceof RedisCommandExecutionException refusal) {
                    return refusal;
                }
                throw new RedisException(failure.getCause());
            } catch (TimeoutException silence) {
                throw new RedisException("no answer in time", silence);
            } catch (InterruptedException interrupt) {
                Thread.currentThread().interrupt();
                throw new RedisException(interrupt);
            }
        }

        @Override
        public void close() {
            connection.close();
        }
    }

    /** What the application has set, but for connections that end where they are lost, and the time that they wait. */
    private static final class NotRestored implements LettuceClientConfiguration {

        private final LettuceClientConfiguration original;
        private final Duration limit;

        NotRestored(LettuceClientConfiguration original, Duration limit) {
            this.original = original;
            this.limit = limit;
        }

        @Override
        public Optional<ClientOptions> getClientOptions() {
            ClientOptions options = original.getClientOptions().orElseGet(ClientOptions::create);
            return Optional.of(options.mutate().autoReconnect(false).build());
        }

        @Override
        public Duration getCommandTimeout() {
            return limit;
        }

        @Override
        public boolean isUseSsl() {
            return original.isUseSsl();
        }

        @Override
        @SuppressWarnings("deprecation")
        public boolean isVerifyPeer() {
            return original.isVerifyPeer();
        }

        @Override
        public SslVerifyMode getVerifyMode() {
            return original.getVerifyMode();
        }

        @Override
        public boolean isStartTls() {
            return original.isStartTls();
        }

        @Override
        public Optional<ClientResources> getClientResources() {
            return original.getClientResources();
        }

        @Override
        public Optional<String> getClientName() {
            return original.getClientName();
        }

        @Override
        public Optional<ReadFrom> getReadFrom() {
            return Optional.empty();
        }

        @Override
        public Optional<RedisCredentialsProviderFactory> getRedisCredentialsProviderFactory() {
            return original.getRedisCredentialsProviderFactory();
        }

        @Override
        public Duration getShutdownTimeout() {
            return original.getShutdownTimeout();
        }

        @Override
        public Duration getShutdownQuietPeriod() {
            return original.getShutdownQuietPeriod();
        }
    }
}
