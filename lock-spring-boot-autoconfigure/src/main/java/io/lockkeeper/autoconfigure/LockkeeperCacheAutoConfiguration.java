/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.cache.RedisCacheManager;
import org.springframework.util.ClassUtils;

/**
 * Auto-configuration that says at the start where Spring Boot keeps caches in Redis although another cache library is on the
 * class path: Spring Data Redis, which came for the locks, takes its place.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.cache.autoconfigure.CacheAutoConfiguration",
            "org.springframework.boot.autoconfigure.cache.CacheAutoConfiguration"
        })
@ConditionalOnClass(RedisCacheManager.class)
@ConditionalOnSingleCandidate(RedisCacheManager.class)
public final class LockkeeperCacheAutoConfiguration {

    private static final Logger log = LoggerFactory.getLogger(LockkeeperCacheAutoConfiguration.class);

    @Bean
    static SmartInitializingSingleton lockkeeperCacheCheck(ListableBeanFactory beans, Environment environment) {
        return () -> {
            String other = otherLibrary(LockkeeperCacheAutoConfiguration.class.getClassLoader());
            if (other != null
                    && isMadeByBoot(beans)
                    && environment.getProperty("spring.cache.type", "").isBlank()) {
                log.warn(
                        "Spring Boot keeps the caches of @EnableCaching in Redis: Spring Data Redis, which the locks use, is on the"
                                + " class path and spring.cache.type is not set. Set spring.cache.type={} to keep them there as"
                                + " without it, or spring.cache.type=redis if Redis is meant",
                        other);
            }
        };
    }

    private static boolean isMadeByBoot(ListableBeanFactory beans) {
        return Stream.of(
                        "org.springframework.boot.cache.autoconfigure.RedisCacheConfiguration",
                        "org.springframework.boot.autoconfigure.cache.RedisCacheConfiguration")
                .anyMatch(beans::containsBean);
    }

    /** Returns the {@code spring.cache.type} without Redis. Of those that Boot prefers to it, none can have been usable. */
    private static @Nullable String otherLibrary(@Nullable ClassLoader loader) {
        if (ClassUtils.isPresent("org.cache2k.Cache2kBuilder", loader)) {
            return "cache2k";
        }
        boolean simple = Stream.of(
                        "javax.cache.Caching",
                        "com.hazelcast.core.HazelcastInstance",
                        "org.infinispan.spring.embedded.provider.SpringEmbeddedCacheManager",
                        "com.couchbase.client.java.Cluster")
                .anyMatch(library -> ClassUtils.isPresent(library, loader));
        boolean caffeine = ClassUtils.isPresent("com.github.benmanes.caffeine.cache.Caffeine", loader);
        return caffeine ? "caffeine" : simple ? "simple" : null;
    }
}
