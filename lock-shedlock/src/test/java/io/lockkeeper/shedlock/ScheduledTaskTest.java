/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** Code written for ShedLock runs unchanged: two applications, one Redis. */
class ScheduledTaskTest {

    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static ApplicationContextRunner application() {
        return new ApplicationContextRunner()
                .withUserConfiguration(Application.class)
                .withPropertyValues("spring.data.redis.client-type=jedis", "spring.data.redis.port=" + server.port());
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableScheduling
    @EnableSchedulerLock(defaultLockAtMostFor = "10m")
    static class Application {

        @Bean
        Report report() {
            return new Report();
        }
    }

    static class Report {

        private final AtomicInteger daily = new AtomicInteger();
        private final AtomicInteger often = new AtomicInteger();

        // The bean is a proxy, which has no values in its fields.
        int dailyRuns() {
            return daily.get();
        }

        int oftenRuns() {
            return often.get();
        }

        @Scheduled(fixedRate = 60_000)
        @SchedulerLock(name = "daily", lockAtLeastFor = "5m", lockAtMostFor = "10m")
        public void daily() {
            LockAssert.assertLocked();
            LockExtender.extendActiveLock(Duration.ofMinutes(20), Duration.ofMinutes(5));
            daily.incrementAndGet();
        }

        @Scheduled(fixedRate = 20)
        @SchedulerLock(name = "often")
        public void often() {
            LockAssert.assertLocked();
            often.incrementAndGet();
        }
    }

    @Test
    void aTaskRunsInOneOfTwoApplications() {
        application().run(one -> application().run(two -> {
            assertThat(one.getBean(LockProvider.class)).isInstanceOf(LockkeeperLockProvider.class);
            Report first = one.getBean(Report.class);
            Report second = two.getBean(Report.class);
            Awaitility.await().until(() -> first.oftenRuns() > 5 && second.oftenRuns() > 5);
            assertThat(first.dailyRuns() + second.dailyRuns()).isEqualTo(1);
            assertThat(two.getBean(LockTemplate.class).lock("daily").isLocked()).isTrue();
        }));
    }

    @Test
    void aProviderOfTheApplicationStays() {
        application()
                .withBean("own", LockProvider.class, () -> task -> Optional.empty())
                .run(context -> assertThat(context).doesNotHaveBean(LockkeeperLockProvider.class));
    }
}
