/* SPDX-License-Identifier: Apache-2.0 */
package org.springframework.integration.redis;

import io.lockkeeper.peers.PeerRedis;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Stands where Spring Integration's tests expect a Redis in a container. */
public interface RedisContainerTest {

    /** Returns connections to a real server. */
    static RedisConnectionFactory connectionFactory() {
        return PeerRedis.connections();
    }
}
