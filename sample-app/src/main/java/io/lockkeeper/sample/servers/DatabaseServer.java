/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.servers;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.h2.tools.Server;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.datasource.init.ScriptUtils;

/** An H2 server on the loopback interface with the database of the shop. */
final class DatabaseServer {

    private static final Logger log = LoggerFactory.getLogger(DatabaseServer.class);

    private static final String NAME = "shop";
    private static final String SHOP_USER = "SA";
    private static final String MONITOR_USER = "MONITOR";
    /** Known to the sample alone, so that it never stops a server which is not its own. */
    private static final String STOP_PASSWORD = "lockkeeper-sample";

    private final int port;
    private @Nullable Server server;

    DatabaseServer(int port) {
        this.port = port;
    }

    /** Starts the server in this process, and returns false where another process was faster. */
    boolean start(Path folder) {
        try {
            createDatabase(folder);
            server = Server.createTcpServer(
                            "-tcpPort", String.valueOf(port),
                            "-tcpPassword", STOP_PASSWORD,
                            "-baseDir", folder.toString())
                    .start();
            return true;
        } catch (SQLException taken) {
            log.info("Not starting a database server on port {}: {}", port, taken.getMessage());
            return false;
        }
    }

    void stop() {
        if (server != null) {
            server.stop();
        }
    }

    boolean isMissing() {
        try (Connection connection = openMonitor()) {
            return !connection.isValid(1);
        } catch (SQLException refused) {
            return true;
        }
    }

    /** Opens the connection through which {@link #isInUse} asks. */
    Connection openMonitor() throws SQLException {
        return open("tcp://localhost:" + port + "/./" + NAME, MONITOR_USER);
    }

    /** Opens a connection by which an instance shows that it needs the servers while it has no other one. */
    Connection openPresence() throws SQLException {
        return open("tcp://localhost:" + port + "/./" + NAME, SHOP_USER);
    }

    /** Returns whether an instance of the shop is connected. */
    static boolean isInUse(Connection monitor) throws SQLException {
        try (Statement statement = monitor.createStatement();
                ResultSet sessions = statement.executeQuery(
                        "select count(*) from information_schema.sessions where user_name = '" + SHOP_USER + "'")) {
            return sessions.next() && sessions.getInt(1) > 0;
        }
    }

    /** Ends the presence of an instance, and stops the server, wherever it runs, if no instance uses it any more. */
    void leave(Connection presence) {
        try (Connection monitor = openMonitor()) {
            presence.close();
            if (!isInUse(monitor)) {
                Server.shutdownTcpServer("tcp://localhost:" + port, STOP_PASSWORD, true, false);
            }
        } catch (SQLException gone) {
            log.debug("The database server on port {} is gone or not the sample's", port, gone);
        }
    }

    private static void createDatabase(Path folder) throws SQLException {
        try (Connection connection = open("file:" + folder.resolve(NAME), SHOP_USER);
                Statement statement = connection.createStatement()) {
            statement.execute("create user if not exists " + MONITOR_USER + " password '' admin");
            // Before any instance connects: "if not exists" fails at times when two instances say it at once
            ScriptUtils.executeSqlScript(connection, new ClassPathResource("schema.sql"));
        }
    }

    private static Connection open(String database, String user) throws SQLException {
        Properties properties = new Properties();
        properties.put("user", user);
        properties.put("password", "");
        return DriverManager.getConnection("jdbc:h2:" + database, properties);
    }
}
