/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.servers;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.support.DefaultSingletonBeanRegistry;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.aot.AbstractAotProcessor;

/**
 * Sees to it that a database and a Redis answer before an instance of the shop creates its first bean: the second
 * instance joins the servers of the first. The last instance to close stops the servers that the sample started.
 */
public final class SharedServers implements ApplicationContextInitializer<ConfigurableApplicationContext> {

    private static final Logger log = LoggerFactory.getLogger(SharedServers.class);

    private static final Duration TIME_TO_START = Duration.ofMinutes(2);

    private final Class<?> mainClass;

    /**
     * Creates the initializer.
     *
     * @param mainClass the class whose main method asks {@link ServerHost#isMeantBy} first
     */
    public SharedServers(Class<?> mainClass) {
        this.mainClass = mainClass;
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        if (Boolean.getBoolean(AbstractAotProcessor.AOT_PROCESSING)) {
            // The build only looks at the beans.
            return;
        }
        ServerSettings settings = ServerSettings.of(context.getEnvironment());
        DatabaseServer database = settings.database();
        RedisServer redis = settings.redis();
        if (database.isMissing() || redis.isMissing()) {
            startHost(settings);
        }
        log.info(
                "Database on port {}, Redis on {}:{}",
                settings.databasePort(),
                settings.redisHost(),
                settings.redisPort());
        // The host stops servers that no instance uses, and the first bean that connects may be long in coming
        Connection presence = enter(database);
        // The first to be registered is the last to be destroyed: the connection pool is closed by then
        if (context.getBeanFactory() instanceof DefaultSingletonBeanRegistry beans) {
            beans.registerDisposableBean("sharedServers", () -> database.leave(presence));
        }
    }

    private static Connection enter(DatabaseServer database) {
        try {
            return database.openPresence();
        } catch (SQLException refused) {
            throw new IllegalStateException("The database lets no instance of the shop in", refused);
        }
    }

    private void startHost(ServerSettings settings) {
        try {
            Path output = Files.createTempFile("lockkeeper-sample-", ".log");
            Process host = new ProcessBuilder(command(settings))
                    .redirectInput(new File("/dev/null"))
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            log.info("Starting the servers that do not answer, in process {}", host.pid());
            if (!Patience.holdsWithin(
                    TIME_TO_START,
                    () -> !settings.database().isMissing() && !settings.redis().isMissing())) {
                throw new IllegalStateException("No database on port " + settings.databasePort() + " or no Redis on "
                        + settings.redisHost() + ":" + settings.redisPort() + ", and none could be started there: see "
                        + output);
            }
            Files.delete(output);
        } catch (IOException failed) {
            throw new UncheckedIOException("Cannot start the servers of the sample", failed);
        }
    }

    /** The command of this very process, behind a shell that makes it deaf to the Ctrl+C of this terminal. */
    private List<String> command(ServerSettings settings) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(
                List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dh2.bindAddress=127.0.0.1"));
        String classPath = System.getProperty("java.class.path");
        boolean unpacked = mainClass.getClassLoader() == ClassLoader.getSystemClassLoader();
        command.addAll(unpacked ? List.of("-cp", classPath, mainClass.getName()) : List.of("-jar", classPath));
        command.addAll(ServerHost.arguments(settings));
        return command;
    }
}
