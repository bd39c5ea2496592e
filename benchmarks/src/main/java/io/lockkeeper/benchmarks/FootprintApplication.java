/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/** A small application with Redis, which knows nothing of locks: its class path decides what is configured. */
@EnableAutoConfiguration
class FootprintApplication {

    /** Argument: the port of Redis. */
    public static void main(String[] arguments) {
        SpringApplication application = new SpringApplication(FootprintApplication.class);
        application.setDefaultProperties(Map.of("spring.data.redis.port", arguments[0]));
        try (ConfigurableApplicationContext context = application.run()) {
            System.out.println("started " + ProcessFigures.cpuNanos());
            RedisCallback<String> ping = connection -> connection.ping();
            context.getBean(StringRedisTemplate.class).execute(ping);
            System.out.println("used " + ProcessFigures.cpuNanos());
            System.out.println("threads " + ProcessFigures.threads());
        }
    }
}
