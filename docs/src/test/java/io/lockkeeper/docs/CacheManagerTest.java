/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.caffeine.CaffeineCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.cache.RedisCacheManager;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** What adding the starter does to an application that keeps its caches in Caffeine. */
class CacheManagerTest {

    private final Logger logger = (Logger) LoggerFactory.getLogger(LockkeeperAutoConfiguration.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    private final ApplicationContextRunner shop = new ApplicationContextRunner()
            .withUserConfiguration(Shop.class)
            // Redisson, an example of the migration page, brings a JCache provider, which comes before Redis.
            .withClassLoader(new FilteredClassLoader("org.redisson", "javax.cache"))
            .withPropertyValues(
                    "lockkeeper.store=memory",
                    "spring.autoconfigure.exclude="
                            + "com.baomidou.lock.spring.boot.autoconfigure.LockAutoConfiguration,"
                            + "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration");

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableCaching
    static class Shop {}

    @Configuration(proxyBeanMethods = false)
    static class OwnCaches {

        @Bean
        RedisCacheManager caches(RedisConnectionFactory connections) {
            return RedisCacheManager.create(connections);
        }
    }

    @BeforeEach
    void record() {
        logger.setLevel(Level.WARN);
        log.start();
        logger.addAppender(log);
    }

    @AfterEach
    void stop() {
        logger.detachAppender(log);
    }

    private List<String> warnings() {
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Test
    void cachesThatMovedToRedisAreSaidOnce() {
        shop.run(context -> assertThat(context).hasSingleBean(RedisCacheManager.class));
        assertThat(warnings()).singleElement(STRING).contains("in Redis", "spring.cache.type=caffeine");
    }

    @Test
    void thePropertyKeepsThemWhereTheyWere() {
        shop.withPropertyValues("spring.cache.type=caffeine")
                .run(context ->
                        assertThat(context.getBean(CacheManager.class)).isInstanceOf(CaffeineCacheManager.class));
        assertThat(warnings()).isEmpty();
    }

    @Test
    void redisThatWasChosenIsNotSaid() {
        shop.withPropertyValues("spring.cache.type=redis")
                .run(context -> assertThat(context).hasSingleBean(RedisCacheManager.class));
        shop.withUserConfiguration(OwnCaches.class)
                .run(context -> assertThat(context).hasSingleBean(RedisCacheManager.class));
        assertThat(warnings()).isEmpty();
    }
}
