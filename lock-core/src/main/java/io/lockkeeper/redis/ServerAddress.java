/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;

/** The address of a server as its name, and as clients are told of it. */
final class ServerAddress {

    private ServerAddress() {}

    /** Returns how to reach one server of a cluster. */
    static RedisStandaloneConfiguration of(String name, RedisClusterConfiguration cluster) {
        int colon = name.lastIndexOf(':');
        RedisStandaloneConfiguration server =
                new RedisStandaloneConfiguration(name.substring(0, colon), Integer.parseInt(name.substring(colon + 1)));
        server.setUsername(cluster.getUsername());
        server.setPassword(cluster.getPassword());
        return server;
    }

    /** Returns the name of the server to which another one sends its callers; without a host it is on the same one. */
    static String target(String told, String teller) {
        int colon = told.lastIndexOf(':');
        String host = told.substring(0, colon);
        boolean same = host.isEmpty() || host.equals("?");
        return same ? teller.substring(0, teller.lastIndexOf(':')) + told.substring(colon) : told;
    }
}
