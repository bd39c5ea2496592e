/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.servers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;

/** Where the two servers listen and where they keep what they write: in a temporary folder if it is null. */
record ServerSettings(
        int databasePort,
        String redisHost,
        int redisPort,
        @Nullable Path dataDir) {

    static ServerSettings of(Environment environment) {
        return new ServerSettings(
                environment.getRequiredProperty("sample.database.port", Integer.class),
                environment.getProperty("spring.data.redis.host", "localhost"),
                environment.getProperty("spring.data.redis.port", Integer.class, 6379),
                folder(environment.getProperty("sample.data-dir", "")));
    }

    static ServerSettings parse(List<String> arguments) {
        return new ServerSettings(
                Integer.parseInt(arguments.get(0)),
                arguments.get(1),
                Integer.parseInt(arguments.get(2)),
                folder(arguments.get(3)));
    }

    List<String> toArguments() {
        return List.of(
                String.valueOf(databasePort),
                redisHost,
                String.valueOf(redisPort),
                dataDir == null ? "" : dataDir.toString());
    }

    DatabaseServer database() {
        return new DatabaseServer(databasePort);
    }

    RedisServer redis() {
        return new RedisServer(redisHost, redisPort);
    }

    Path createFolder() throws IOException {
        return dataDir == null ? Files.createTempDirectory("lockkeeper-sample-") : Files.createDirectories(dataDir);
    }

    private static @Nullable Path folder(String text) {
        return text.isBlank() ? null : Path.of(text).toAbsolutePath();
    }
}
