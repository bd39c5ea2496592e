/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AdviceMode;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.core.task.TaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.Transactional;

/** Runs in a JVM of its own; asynchronous methods and transactions are woven. */
public final class AsynchronousApplication {

    private static final BlockingQueue<Body> BODIES = new LinkedBlockingQueue<>();

    private AsynchronousApplication() {}

    /** Starts the application, and prints what is held on which thread. */
    public static void main(String[] args) throws Exception {
        SpringApplication application = new SpringApplication(Beans.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        try (ConfigurableApplicationContext context = application.run(args)) {
            Thread caller = Thread.currentThread();
            context.getBean(Seller.class).sell();
            Body body = BODIES.take();
            System.out.println("held " + body.names() + (body.thread() == caller ? " by the caller" : " elsewhere"));
        }
    }

    private record Body(List<String> names, Thread thread) {}

    @Configuration(proxyBeanMethods = false)
    @EnableAsync(mode = AdviceMode.ASPECTJ)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    static class Beans {
        /** Without one the aspect would run bodies on the thread of the call. */
        @Bean
        @ConditionalOnProperty(name = "executor", matchIfMissing = true)
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
        public void sell() {
            BODIES.add(new Body(
                    LockContext.current().map(LockLease::names).orElse(List.of("nothing")), Thread.currentThread()));
        }

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
