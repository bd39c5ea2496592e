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
     * Returns what tells this server from others: its run id, which it has anew at each start; where that may not be asked
     * for, its address. Asks the server.
     */
    String server() {
        connection.sendCommand(Command.INFO, "server");
        Matcher id = read() instanceof byte[] info
                ? RUN_ID.matcher(new String(info, StandardCharsets.UTF_8))
                : RUN_ID.matcher("");
        Socket open = socket;
        return id.find() ? id.group(1) : open == null ? "" : String.valueOf(open.getRemoteSocketAddress());
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
