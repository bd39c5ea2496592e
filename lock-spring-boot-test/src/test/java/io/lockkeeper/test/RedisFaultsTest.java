/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.testing.RedisServer;
import org.junit.jupiter.api.AutoClose;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

@DirtiesContext
class RedisFaultsTest extends ApplicationFaults {

    @AutoClose // After the application
    private static final RedisServer server = RedisServer.start();

    @DynamicPropertySource
    static void connection(DynamicPropertyRegistry properties) {
        properties.add("spring.data.redis.port", server::port);
    }
}
