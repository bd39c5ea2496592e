/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.testing.RedisServer;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.util.ClassUtils;

/** A Redis that cannot be used is answered with the properties that are set. */
class RedisAdviceTest {

    private static final String HOST = "spring.data.redis.host=127.0.0.1,spring.data.redis.port=%d";
    private static final String URL = "spring.data.redis.url=redis://127.0.0.1:%d";

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LockkeeperAutoConfigurationTest.redisAutoConfiguration(), LockkeeperAutoConfiguration.class));

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {URL + "|set spring.data.redis.url", HOST + "|set spring.data.redis.host and spring.data.redis.port"
            })
    void aRedisThatIsDown(String properties, String advice) {
        int port;
        try (RedisServer server = RedisServer.start()) {
            port = server.port();
        }
        assertThat(failureWith(properties, port))
                .endsWith("It was looked for at 127.0.0.1:" + port + ": start it there, or " + advice);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {URL + "|spring.data.redis.url", HOST + "|spring.data.redis.username and spring.data.redis.password"
            })
    void aRedisThatWantsAPassword(String properties, String advice) {
        try (RedisServer server = RedisServer.start()) {
            server.command("CONFIG", "SET", "requirepass", "secret");
            assertThat(failureWith(properties, server.port()))
                    .endsWith("Set " + advice + " for 127.0.0.1:" + server.port());
        }
    }

    /** Its properties have no effect on a connection factory that is not made of them. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aConnectionFactoryOfTheApplicationIsNamed(boolean isNamed) {
        int port;
        try (RedisServer server = RedisServer.start()) {
            port = server.port();
            server.command("CONFIG", "SET", "requirepass", "secret");
            assertThat(failure(withOwnFactory(port, isNamed)))
                    .endsWith("Set user and password in the bean 'mine' for 127.0.0.1:" + port);
        }
        assertThat(failure(withOwnFactory(port, isNamed)))
                .endsWith("It was looked for at 127.0.0.1:" + port
                        + ": start it there, or set another address in the bean 'mine'");
    }

    /** As {@code @ServiceConnection} defines it: Spring Boot reads no property then. */
    @Test
    void connectionDetailsAreNamed() {
        int port;
        try (RedisServer server = RedisServer.start()) {
            port = server.port();
            server.command("CONFIG", "SET", "requirepass", "secret");
            assertThat(failure(withDetails(port)))
                    .endsWith("Set user and password in the bean 'container' for 127.0.0.1:" + port);
        }
        assertThat(failure(withDetails(port)))
                .endsWith("It was looked for at 127.0.0.1:" + port
                        + ": start it there, or set another address in the bean 'container'");
    }

    private ApplicationContextRunner withDetails(int port) {
        String newer = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";
        String older = "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails";
        Class<?> type = ClassUtils.resolveClassName(ClassUtils.isPresent(newer, null) ? newer : older, null);
        Object details = Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> method.getName().equals("getStandalone")
                        ? method.getReturnType()
                                .getMethod("of", String.class, int.class)
                                .invoke(null, "127.0.0.1", port)
                        : InvocationHandler.invokeDefault(proxy, method, arguments));
        return application
                .withPropertyValues("spring.data.redis.url=redis://elsewhere:1")
                .withInitializer(context -> context.getBeanFactory().registerSingleton("container", details));
    }

    private ApplicationContextRunner withOwnFactory(int port, boolean isNamed) {
        ApplicationContextRunner own = application
                .withPropertyValues("spring.data.redis.url=redis://elsewhere:1")
                .withBean(
                        "mine",
                        RedisConnectionFactory.class,
                        () -> new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", port)));
        return isNamed ? own.withPropertyValues("lockkeeper.redis.connection-factory=mine") : own;
    }

    private String failureWith(String properties, int port) {
        return failure(application.withPropertyValues(properties.formatted(port).split(",")));
    }

    /** A busy machine takes long to connect for the first time; then Redis, or its port, has refused. */
    private static String failure(ApplicationContextRunner application) {
        String[] message = {""};
        application.run(context -> Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThatExceptionOfType(LockStoreException.class)
                        .isThrownBy(() -> context.getBean(LockOperations.class).tryAcquire("name"))
                        .satisfies(failure -> message[0] = failure.getMessage())
                        .withMessageNotContaining("has not answered")));
        return message[0];
    }
}
