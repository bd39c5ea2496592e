/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;

/** What servers say of themselves, as far as they may be asked. */
final class ServerInfo {

    private static final Logger log = LoggerFactory.getLogger(ServerInfo.class);

    private final Map<String, Properties> answers = new ConcurrentHashMap<>();

    private ServerInfo() {}

    /** Asks all servers at once. */
    static CompletableFuture<Map<String, Properties>> of(Servers servers, Asking asking) {
        ServerInfo info = new ServerInfo();
        Stream<CompletableFuture<?>> questions = servers.isSingle()
                ? Stream.of(info.take(Servers.ANY, asking, ServerInfo::only))
                : servers.masters().stream()
                        .map(master ->
                                info.take(master.name(), asking, connection -> ((RedisClusterConnection) connection)
                                        .serverCommands()
                                        .info(master.node())));
        return CompletableFuture.allOf(questions.toArray(CompletableFuture[]::new))
                .thenApply(done -> Map.copyOf(info.answers));
    }

    private static Properties only(RedisConnection connection) {
        return told(connection.serverCommands().info());
    }

    private static Properties told(@Nullable Properties info) {
        if (info == null) {
            throw new StoreException("the server did not tell about itself", null);
        }
        return info;
    }

    private CompletableFuture<?> take(String server, Asking asking, Question question) {
        return asking.ask(server, question).handle((answer, failure) -> {
            if (failure == null && answer != null) {
                answers.put(server, answer);
            } else {
                log.debug("Redis {} does not tell about itself", server, failure);
            }
            return server;
        });
    }

    /** What a server is asked. */
    interface Question {
        Properties on(RedisConnection connection);
    }

    /** How a server is asked. */
    interface Asking {
        CompletableFuture<Properties> ask(String server, Question question);
    }
}
