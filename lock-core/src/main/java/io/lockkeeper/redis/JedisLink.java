/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * One connection of Jedis, used by one thread at a time; any thread may cut it, and then it is over: Jedis would make a new
 * socket by itself, without the password and the database, and forget what was written before.
 */
final class JedisLink {

    private static final Pattern RUN_ID = Pattern.compile("run_id:(\\w+)");

    private final Connection connection;
    private volatile @Nullable Socket socket;
    private volatile @Nullable String server;
    private volatile boolean ready;

    /** Connects; fails as Jedis does. */
    JedisLink(HostAndPort server, JedisClientConfig config) {
        JedisSocketFactory sockets = new DefaultJedisSocketFactory(server, config);
        this.connection = new Connection(
                () -> {
                    if (socket != null) {
                        throw new JedisConnectionException("The connection was cut");
                    }
                    Socket made = sockets.createSocket();
                    socket = made;
                    return made;
                },
                config);
    }

    /** Writes a command, of which the server sees nothing before the next read. */
    void send(PendingCommand command) {
        Request request = command.send();
        connection.sendCommand(request.command(), request.arguments().toArray(byte[][]::new));
    }

    /** Returns the next reply; an error of the server is one, too. */
    @Nullable
    Object read() {
        try {
            return connection.getOne();
        } catch (JedisDataException error) {
            return error;
        }
    }

    /**
     * Asks the server for what tells it from others, its run id, which it has anew at each start. Ready after that.
     *
     * @return null where the server does not say, or not to this user
     */
    @Nullable
    String askServer() {
        connection.sendCommand(Command.INFO, "server");
        Object reply = read();
        if (reply instanceof JedisDataException error && !mayNotBeAsked(error)) {
            throw error;
        }
        if (reply instanceof byte[] info) {
            Matcher id = RUN_ID.matcher(new String(info, StandardCharsets.UTF_8));
            server = id.find() ? id.group(1) : null;
        }
        ready = true;
        return server;
    }

    private static boolean mayNotBeAsked(JedisDataException error) {
        String message = String.valueOf(error.getMessage());
        return message.startsWith("NOPERM") || message.contains("unknown command");
    }

    boolean isReady() {
        return ready;
    }

    /** Returns whether it is known that this connection leads to another server. */
    boolean leadsElsewhere(String id) {
        String known = server;
        return known != null && !known.equals(id);
    }

    /** Cuts the connection: who reads or writes fails at once. */
    void cut() {
        Socket open = socket;
        if (open != null) {
            try {
                open.close();
            } catch (IOException alreadyBroken) {
                // There is nothing left to close.
                return;
            }
        }
    }
}
