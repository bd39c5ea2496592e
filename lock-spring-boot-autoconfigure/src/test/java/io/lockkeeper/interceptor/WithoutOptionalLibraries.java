/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** An application that is run by a class loader that knows neither Reactor nor Kotlin. */
public class WithoutOptionalLibraries implements Callable<String> {

    @Override
    public String call() throws Exception {
        try (AnnotationConfigApplicationContext application = application(Shop.class)) {
            Shop shop = application.getBean(Shop.class);
            return shop.value() + shop.future().get() + refused();
        }
    }

    private static String refused() {
        try (AnnotationConfigApplicationContext application = application(Publishing.class)) {
            return "was not refused: " + application;
        } catch (DistributedLockedConfigurationException wrong) {
            return wrong.faults().get(0).remedy();
        }
    }

    private static AnnotationConfigApplicationContext application(Class<?> bean) {
        AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
        TestPropertyValues.of("lockkeeper.store=memory").applyTo(application);
        application.register(bean, LockkeeperAutoConfiguration.class);
        application.refresh();
        return application;
    }

    static class Shop {

        @DistributedLocked("shop")
        public String value() {
            return LockContext.require().name() + ",";
        }

        @DistributedLocked("shop")
        public CompletableFuture<String> future() {
            return CompletableFuture.completedFuture(value());
        }
    }

    static class Publishing {

        @DistributedLocked("shop")
        public Flow.Publisher<String> publisher() {
            return subscriber -> {};
        }
    }
}
