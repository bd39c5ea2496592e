/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import java.io.IOException;
import java.net.Socket;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * One connection of Jedis, used by one thread at a time; any thread may cut it, and then it is over: Jedis would make a new
 * socket by itself, without the password and the database, and forget what was written before.
 */
final class JedisLink {

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
    void send(byte[][] words) {
        connection.sendCommand(() -> words[0], Arrays.copyOfRange(words, 1, words.length));
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

    /** Cuts the connection: what reads or writes fails at once. */
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
