/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisSentinel;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.util.ClassUtils;

/** Servers in some arrangement, and an application that Spring Boot has connected with them. */
final class Topology implements AutoCloseable {

    enum Driver {
        JEDIS,
        LETTUCE
    }

    private static final String BOOT_4 = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration";
    private static final String BOOT_3 = "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration";

    private final AutoCloseable servers;
    private final AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();

    private Topology(AutoCloseable servers, Driver driver, List<String> properties) {
        this.servers = servers;
        List<String> all = new ArrayList<>(properties);
        all.add("spring.data.redis.client-type=" + driver.name().toLowerCase(Locale.ROOT));
        all.add("lockkeeper.shutdown.wait=0");
        TestPropertyValues.of(all).applyTo(application);
        ClassLoader loader = Topology.class.getClassLoader();
        application.register(
                SslAutoConfiguration.class,
                ClassUtils.resolveClassName(ClassUtils.isPresent(BOOT_4, loader) ? BOOT_4 : BOOT_3, loader),
                LockkeeperAutoConfiguration.class);
        application.refresh();
    }

    /** Three sentinels, a master and two replicas. */
    static Topology sentinel(Driver driver, String... properties) {
        RedisSentinel sentinel = RedisSentinel.start();
        return of(
                sentinel,
                driver,
                properties,
                "spring.data.redis.sentinel.master=" + RedisSentinel.MASTER,
                "spring.data.redis.sentinel.nodes=" + String.join(",", sentinel.nodes()));
    }

    /** Three masters, each with a replica. */
    static Topology cluster(Driver driver, String... properties) {
        RedisCluster cluster = RedisCluster.start(1);
        String nodes = cluster.ports().stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
        return of(
                cluster,
                driver,
                properties,
                "spring.data.redis.cluster.nodes=" + nodes,
                "spring.data.redis.lettuce.cluster.refresh.adaptive=true");
    }

    /** One server that somebody else has started. */
    static Topology server(AutoCloseable server, Driver driver, String host, int port, String... properties) {
        return of(server, driver, properties, "spring.data.redis.host=" + host, "spring.data.redis.port=" + port);
    }

    private static Topology of(AutoCloseable servers, Driver driver, String[] properties, String... own) {
        List<String> all = new ArrayList<>(List.of(own));
        all.addAll(List.of(properties));
        try {
            return new Topology(servers, driver, all);
        } catch (RuntimeException failure) {
            try {
                servers.close();
            } catch (Exception second) {
                failure.addSuppressed(second);
            }
            throw failure;
        }
    }

    RedisConnectionFactory connections() {
        return application.getBean(RedisConnectionFactory.class);
    }

    LockTemplate template() {
        return application.getBean(LockTemplate.class);
    }

    @Override
    public void close() throws Exception {
        application.close();
        servers.close();
    }
}
