/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.servers;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.util.FileSystemUtils;

/**
 * A process beside the instances of the shop that hosts the database server and the redis-server which they share. An
 * instance starts it and may then be killed: the host stays while any instance is connected to the database.
 */
public final class ServerHost {

    private static final Logger log = LoggerFactory.getLogger(ServerHost.class);

    private static final String ARGUMENT = "host-servers";
    private static final Duration TIME_TO_START = Duration.ofMinutes(1);
    /** How long a killed instance may take to come back before the stock goes. */
    private static final Duration TIME_TO_RETURN = Duration.ofSeconds(30);

    private final ServerSettings settings;
    private final Path folder;
    private final DatabaseServer database;
    private final RedisServer redis;

    private ServerHost(ServerSettings settings) throws IOException {
        this.settings = settings;
        this.folder = settings.createFolder();
        this.database = settings.database();
        this.redis = settings.redis();
    }

    /**
     * Returns whether a process is meant to be the host, and not an instance of the shop.
     *
     * @param arguments the arguments of its main method
     * @return whether {@link #run} takes them
     */
    public static boolean isMeantBy(String... arguments) {
        return arguments.length > 0 && arguments[0].equals(ARGUMENT);
    }

    /**
     * Starts the servers that do not answer, and returns when no instance needs them any more.
     *
     * @param arguments the arguments of the main method
     * @throws IOException if the folder of the servers cannot be written
     */
    public static void run(String... arguments) throws IOException {
        ServerHost host =
                new ServerHost(ServerSettings.parse(Stream.of(arguments).skip(1).toList()));
        Runtime.getRuntime().addShutdownHook(new Thread(host::stop, "server-host-stop"));
        try {
            host.start();
        } finally {
            host.stop();
        }
    }

    static List<String> arguments(ServerSettings settings) {
        return Stream.concat(Stream.of(ARGUMENT), settings.toArguments().stream())
                .toList();
    }

    private void start() throws IOException {
        boolean ownDatabase = database.isMissing() && database.start(folder);
        if (redis.isMissing()) {
            redis.start(folder);
        }
        boolean complete = Patience.holdsWithin(TIME_TO_START, () -> !database.isMissing() && !redis.isMissing());
        // Of two hosts started at the same moment one may own nothing: it leaves the work to the other
        if (complete && (ownDatabase || redis.isOwn())) {
            log.info("Hosting for {}: database {}, redis {}", settings, ownDatabase, redis.isOwn());
            awaitDisuse();
        }
    }

    private void awaitDisuse() {
        try (Connection monitor = database.openMonitor()) {
            long lastUse = System.nanoTime();
            while (System.nanoTime() - lastUse < TIME_TO_RETURN.toNanos()) {
                if (DatabaseServer.isInUse(monitor)) {
                    lastUse = System.nanoTime();
                }
                Patience.pause();
            }
        } catch (SQLException stopped) {
            log.info("The last instance has stopped the database: {}", stopped.getMessage());
        }
    }

    private synchronized void stop() {
        redis.stop();
        database.stop();
        if (settings.dataDir() == null) {
            deleteFolder();
        }
    }

    private void deleteFolder() {
        try {
            FileSystemUtils.deleteRecursively(folder);
        } catch (IOException leftBehind) {
            log.warn("Cannot delete {}", folder, leftBehind);
        }
    }
}
