/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import io.lockkeeper.redis.RedisContracts;
import io.lockkeeper.topology.Topology.Driver;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.junit.jupiter.Testcontainers;
import org.testcontainers.utility.DockerImageName;

/**
 * The contracts on a Redis in a container, of {@code -Dredis.image} or the latest 7; skipped where there is no Docker.
 */
@Tag("topology")
@Testcontainers(disabledWithoutDocker = true)
class ContainerTopologyTest {

    private static final int PORT = 6379;

    private static Topology container(Driver driver) {
        DockerImageName image = DockerImageName.parse(System.getProperty("redis.image", "redis:7-alpine"));
        GenericContainer<?> redis = new GenericContainer<>(image).withExposedPorts(PORT);
        redis.start();
        return Topology.server(redis, driver, redis.getHost(), redis.getMappedPort(PORT));
    }

    @Nested
    class Jedis extends RedisContracts {
        Jedis() {
            super(container(Driver.JEDIS), Topology::connections);
        }
    }

    @Nested
    class Lettuce extends RedisContracts {
        Lettuce() {
            super(container(Driver.LETTUCE), Topology::connections);
        }
    }
}
