/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.annotation.AdviceMode;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.core.task.TaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.Transactional;

/** Runs in a JVM of its own; asynchronous methods and transactions are woven, and locks are not. */
public final class AsynchronousApplication {

    private AsynchronousApplication() {}

    public static void main(String[] args) {
        SpringApplication application = new SpringApplication(Beans.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.run(args).close();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAsync(mode = AdviceMode.ASPECTJ)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    static class Beans {
        /** Without one the aspect would run bodies on the thread of the call. */
        @Bean
        TaskExecutor executor() {
            return new SimpleAsyncTaskExecutor();
        }

        @Bean
        Seller seller() {
            return new Seller();
        }

        @Bean
        Clerk clerk() {
            return new Clerk();
        }
    }

    static class Seller {
        @Async
        @DistributedLocked("sale")
        public void sell() {}

        @Async
        @DistributedLocked("sale")
        public Future<String> sellLater() {
            return CompletableFuture.completedFuture("");
        }

        @Async
        @DistributedLocked("sale")
        public CompletableFuture<String> sellUntilDone() {
            return CompletableFuture.completedFuture("");
        }

        @Transactional
        @DistributedLocked("sale")
        public void sellAtOnce() {}
    }

    @Async
    static class Clerk {
        @Transactional
        @DistributedLocked("clerk")
        public String name() {
            return "";
        }
    }
}
