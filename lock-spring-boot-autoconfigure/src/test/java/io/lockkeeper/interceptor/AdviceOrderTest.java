/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.interceptor.SalesDatabase.Sales;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.concurrent.ConcurrentMapCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.task.TaskExecutor;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.retry.annotation.EnableRetry;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.concurrent.DelegatingSecurityContextRunnable;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** One method with every annotation; each combination of them is switched on in turn. */
class AdviceOrderTest {

    enum Feature {
        TRANSACTIONAL(Transactions.class),
        ASYNC(Workers.class),
        CACHEABLE(Caches.class),
        SECURED(Security.class),
        RETRYABLE(Retries.class),
        SPRING_RETRY(OlderRetries.class);

        private final Class<?> configuration;

        Feature(Class<?> configuration) {
            this.configuration = configuration;
        }
    }

    static Stream<Set<Feature>> combinations() {
        // Spring has its own retry since version 7.
        boolean retryable = ClassUtils.isPresent("org.springframework.resilience.annotation.Retryable", null);
        return IntStream.range(0, 1 << Feature.values().length)
                .mapToObj(AdviceOrderTest::features)
                .filter(features -> retryable || !features.contains(Feature.RETRYABLE))
                .filter(features -> !features.containsAll(Set.of(Feature.RETRYABLE, Feature.SPRING_RETRY)));
    }

    private static Set<Feature> features(int bits) {
        Feature[] all = Feature.values();
        Set<Feature> features = EnumSet.noneOf(Feature.class);
        IntStream.range(0, all.length).filter(i -> (bits & 1 << i) != 0).forEach(i -> features.add(all[i]));
        return features;
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void theLockIsTakenBeforeTheTransactionAndReleasedAfterIt(Set<Feature> features) {
        runner(features).run(context -> {
            Journal journal = context.getBean(Journal.class);
            Shop shop = context.getBean(Shop.class);
            journal.failures.set(isRetried(features) ? 1 : 0);
            as("SELLER", () -> shop.sell("lamp"));
            as("SELLER", () -> shop.sell("lamp"));
            assertThat(journal.entries).containsExactlyElementsOf(expected(features));
        });
    }

    static Stream<Set<Feature>> securedCombinations() {
        return combinations().filter(features -> features.contains(Feature.SECURED));
    }

    @ParameterizedTest
    @MethodSource("securedCombinations")
    void whoeverMayNotCallTheMethodTakesNoLock(Set<Feature> features) {
        runner(features).run(context -> {
            Shop shop = context.getBean(Shop.class);
            as("VISITOR", () -> {
                try {
                    shop.sell("lamp");
                } catch (RuntimeException denied) {
                    assertThat(features).doesNotContain(Feature.ASYNC);
                }
            });
            assertThat(context.getBean(Journal.class).entries).isEmpty();
        });
    }

    private static ApplicationContextRunner runner(Set<Feature> features) {
        ApplicationContextRunner runner = LockedApplication.runner()
                .withUserConfiguration(SalesDatabase.class)
                .withBean(Journal.class)
                .withBean(Shop.class);
        for (Feature feature : features) {
            runner = runner.withUserConfiguration(feature.configuration);
        }
        return runner;
    }

    private static boolean isRetried(Set<Feature> features) {
        return features.contains(Feature.RETRYABLE) || features.contains(Feature.SPRING_RETRY);
    }

    private static List<String> expected(Set<Feature> features) {
        String thread = features.contains(Feature.ASYNC)
                ? "worker"
                : Thread.currentThread().getName();
        boolean transactional = features.contains(Feature.TRANSACTIONAL);
        List<String> entries = new ArrayList<>();
        int rows = 0;
        if (isRetried(features)) {
            rows += transactional ? 0 : 1;
            entries.addAll(List.of("locked in " + thread, "body", "released with " + rows + " rows"));
        }
        for (int call = 0; call < 2; call++) {
            boolean cached = call == 1 && features.contains(Feature.CACHEABLE);
            rows += cached ? 0 : 1;
            entries.add("locked in " + thread);
            if (!cached) {
                entries.add("body");
            }
            if (!cached && transactional) {
                entries.add("committed under the lock: true");
            }
            entries.add("released with " + rows + " rows");
        }
        return entries;
    }

    private static void as(String role, Runnable call) {
        SecurityContextHolder.getContext()
                .setAuthentication(new TestingAuthenticationToken("someone", "", "ROLE_" + role));
        try {
            call.run();
        } finally {
            SecurityContextHolder.clearContext();
        }
    }

    static class Shop {

        private final Sales sales;
        private final Journal journal;

        Shop(Sales sales, Journal journal) {
            this.sales = sales;
            this.journal = journal;
        }

        @Transactional
        @Async
        @Cacheable("sales")
        @PreAuthorize("hasRole('SELLER')")
        @Retryable(maxRetries = 1, delay = 1)
        @org.springframework.retry.annotation.Retryable(maxAttempts = 2)
        @DistributedLocked("stock")
        public void sell(String product) {
            LockLease lease = LockContext.require();
            journal.entries.add("body");
            sales.add();
            if (journal.mustFail()) {
                throw new IllegalStateException("try again");
            }
            if (TransactionSynchronizationManager.isActualTransactionActive()) {
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        journal.entries.add("committed under the lock: " + lease.isHeld());
                    }
                });
            }
        }
    }

    static class Journal implements LockListener {

        private final ObjectProvider<Sales> sales;
        final List<String> entries = new CopyOnWriteArrayList<>();
        private final AtomicInteger failures = new AtomicInteger();

        Journal(ObjectProvider<Sales> sales) {
            this.sales = sales;
        }

        boolean mustFail() {
            return failures.getAndDecrement() > 0;
        }

        @Override
        public void onAcquired(Acquired event) {
            entries.add("locked in " + Thread.currentThread().getName());
        }

        @Override
        public void onReleased(Released event) {
            entries.add("released with " + sales.getObject().committed() + " rows");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    @Configuration(proxyBeanMethods = false)
    @EnableAsync(proxyTargetClass = true)
    static class Workers {

        /** Runs each task on another thread, and waits for its end. */
        @Bean
        TaskExecutor taskExecutor() {
            return task -> {
                Thread worker = new Thread(new DelegatingSecurityContextRunnable(task), "worker");
                worker.start();
                try {
                    worker.join();
                } catch (InterruptedException interrupt) {
                    throw new IllegalStateException(interrupt);
                }
            };
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableCaching(proxyTargetClass = true)
    static class Caches {
        @Bean
        ConcurrentMapCacheManager cacheManager() {
            return new ConcurrentMapCacheManager("sales");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableMethodSecurity
    static class Security {}

    @Configuration(proxyBeanMethods = false)
    @EnableResilientMethods(proxyTargetClass = true)
    static class Retries {}

    /** Spring Retry stands inside the lock unless it is told to stand outside. */
    @Configuration(proxyBeanMethods = false)
    @EnableRetry(proxyTargetClass = true, order = Ordered.LOWEST_PRECEDENCE - 200)
    static class OlderRetries {}
}
