/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Both drivers talk through the proxy, and each meets a lost reply in its own way. */
class DriversThroughFaultProxyTest {

    private static final String SCRIPT = "return redis.call('INCR', KEYS[1])";

    private RedisServer server;
    private FaultProxy proxy;
    private Fault lostReply;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        proxy = FaultProxy.inFrontOf(server);
        lostReply = proxy.when(RedisRequest.command("EVAL")).once().cutReply();
    }

    @AfterEach
    void close() {
        proxy.close();
        server.close();
    }

    @Test
    void jedisReportsALostReply() {
        try (Jedis jedis = new Jedis(proxy.host(), proxy.port())) {
            jedis.set("n", "10");
            assertThatThrownBy(() -> jedis.eval(SCRIPT, 1, "n")).isInstanceOf(JedisConnectionException.class);
        }
        assertThat(lostReply.hits()).isEqualTo(1);
        assertThat(server.command("GET", "n")).isEqualTo("11");
    }

    @Test
    void lettuceRunsACommandAgainWhoseReplyWasLost() {
        RedisClient client = RedisClient.create(RedisURI.create(proxy.host(), proxy.port()));
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            connection.sync().set("n", "10");
            Long reply = connection.sync().eval(SCRIPT, ScriptOutputType.INTEGER, "n");
            assertThat(reply).isEqualTo(12);
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
        assertThat(lostReply.hits()).isEqualTo(1);
        assertThat(server.calls("eval")).isEqualTo(2);
    }
}
