/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.whileHeldElsewhere;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.interceptor.SalesDatabase.Sales;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.aop.support.AopUtils;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.cache.annotation.CacheEvict;
import org.springframework.scheduling.annotation.Async;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.aspectj.AbstractTransactionAspect;
import org.springframework.transaction.config.TransactionManagementConfigUtils;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import reactor.core.publisher.Mono;

/** Fallbacks that have annotations of their own. */
class AnnotatedFallbackTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final ApplicationContextRunner runner = LockedApplication.runner()
            .withUserConfiguration(SalesDatabase.class, Transactions.class)
            .withBean(Shop.class)
            .withBean(CounterImplementation.class)
            .withBean("texts", TextCounter.class);

    private final LogRecorder log = new LogRecorder(DistributedLocked.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @Test
    void theyRunUnderTheirLocksAndInTheirTransactions() {
        runner.run(context -> whileHeldElsewhere(context, "stock", () -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.sell()).isEqualTo("locked, in a transaction");
            assertThat(shop.sellLater()).succeedsWithin(SOON).isEqualTo("locked, in a transaction");
            assertThat(shop.sellReactively().block(SOON)).isEqualTo("locked, in a transaction");
            assertThat(shop.sellForFriends()).isEqualTo("locked, in a transaction");
        }));
    }

    @Test
    void theyHaveTheAdviceOfTheirClass() {
        runner.run(context -> whileHeldElsewhere(
                context, "stock", () -> assertThat(context.getBean(Shop.class).lend())
                        .isEqualTo("lent by a bean, in a transaction")));
    }

    @Test
    void theyAreCalledThroughInterfacesToo() {
        runner.withPropertyValues("spring.aop.proxy-target-class=false").run(context -> {
            Counter counter = context.getBean(Counter.class);
            assertThat(AopUtils.isJdkDynamicProxy(counter)).isTrue();
            whileHeldElsewhere(context, "stock", () -> {
                assertThat(counter.count()).isEqualTo("locked");
                assertThat(counter.countHidden()).isEqualTo("hidden");
                @SuppressWarnings("unchecked") // The bean factory knows classes, and not their parameters.
                GenericCounter<String> texts = context.getBean("texts", GenericCounter.class);
                assertThat(texts.count("lamp")).isEqualTo("locked");
            });
        });
    }

    @Test
    void whatNoProxyCanCallIsNamedAtTheStart() {
        runner.withBean(Hiding.class).run(context -> {
            assertThat(log.lines()).singleElement().asString().startsWith("WARN busy(), the fallback of ");
            assertThat(log.lines().get(0)).contains("Hiding.sell()", "make it public");
            whileHeldElsewhere(context, "stock", () -> assertThat(
                            context.getBean(Hiding.class).sell())
                    .isEqualTo("field of the bean"));
        });
    }

    @Test
    void whateverAdviceItsAnnotationAsksForIsMissed() {
        runner.withBean(HidingAdvice.class).run(context -> assertThat(log.lines())
                .hasSize(3)
                .allMatch(line -> line.contains("runs without its own annotations"))
                .anyMatch(line -> line.contains("later()"))
                .anyMatch(line -> line.contains("cached()"))
                .anyMatch(line -> line.contains("secured()")));
    }

    @Test
    void anAnnotatedFallbackThatNoProxyCanLockStopsTheStart() {
        runner.withBean(Wrong.class)
                .run(context -> assertThat(context.getStartupFailure()).hasMessageContaining("busy(): is private"));
    }

    @Test
    void fallbacksThatLeadBackStopTheStart() {
        runner.withBean(Circle.class).run(context -> assertThat(context.getStartupFailure())
                .hasMessageContaining("fallbackMethod: leads back to the method itself"));
    }

    @Test
    void wovenFallbacksAreCheckedToo() {
        SpecFixture fixture = new SpecFixture();
        assertThat(fixture.faults(Circle.class, "first", true))
                .singleElement()
                .satisfies(fault -> assertThat(fault.problem()).startsWith("leads back to the method itself"));
        assertThat(fixture.faults(Again.class, "sell", true)).isEmpty();
        assertThat(log.lines()).contains(again("sell", "same"));
    }

    @Test
    void aTransactionOfAWovenFallbackIsMissedWhereNoneIsWovenIn() {
        SpecFixture fixture = new SpecFixture();
        fixture.faults(WithWovenTransaction.class, "sell", true);
        assertThat(log.lines())
                .containsExactly(
                        "WARN busy(), the fallback of " + WithWovenTransaction.class.getName() + ".sell(), runs"
                                + " without its @Transactional, because a woven lock calls it on the bean itself and not on the"
                                + " proxy: weave transactions, too, or let it use TransactionTemplate");
        fixture.define(TransactionManagementConfigUtils.TRANSACTION_ASPECT_BEAN_NAME, new Object());
        fixture.faults(WithWovenTransaction.class, "sell", true);
        assertThat(log.lines()).hasSize(1);
        fixture.faults(Hiding.class, "sell", true);
        assertThat(log.lines()).hasSize(2);
    }

    /** What a weaver leaves in a class file. */
    static class WithWovenTransaction {

        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public String sell() {
            throw new AssertionError();
        }

        @Transactional
        public String busy() {
            return busy_aroundBody0(this) + AbstractTransactionAspect.class;
        }

        @SuppressWarnings("MethodName")
        private static String busy_aroundBody0(WithWovenTransaction self) {
            return self.toString();
        }
    }

    @Test
    void aFallbackThatWaitsForTheSameLockAgainIsNamedAtTheStart() {
        runner.withBean(Again.class).run(context -> assertThat(context).hasNotFailed());
        assertThat(log.lines()).isEmpty();
        runner.withPropertyValues("lockkeeper.wait-time=5s")
                .withBean(Again.class)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(log.lines())
                .filteredOn(line -> line.contains(Again.class.getName()))
                .containsExactlyInAnyOrder(again("sell", "same"), again("sellTo", "sameOf"));
    }

    private static String again(String method, String fallback) {
        return "WARN " + fallback + "(String), the fallback of " + Again.class.getName() + "." + method
                + "(String), asks again for the lock that was not acquired, and waits for it a second time: write waitTime"
                + " = \"0s\" or another name there, or leave its @DistributedLocked out";
    }

    static class Again {

        @DistributedLocked(name = "stock", fallbackMethod = "same")
        public void sell(String customer) {}

        @DistributedLocked({"shop", "stock"})
        public void same(String customer) {}

        @DistributedLocked(name = "stock:#{#customer}", fallbackMethod = "sameOf")
        public void sellTo(String customer) {}

        @DistributedLocked("stock:#{#buyer}")
        public void sameOf(String buyer) {}

        @DistributedLocked(name = "stock", fallbackMethod = "trying")
        public void buy(String customer) {}

        @DistributedLocked(name = "stock", waitTime = "0s")
        public void trying(String customer) {}

        @DistributedLocked(name = "stock", fallbackMethod = "other")
        public void rent(String customer) {}

        @DistributedLocked("waiting list")
        public void other(String customer) {}
    }

    @EnableTransactionManagement(proxyTargetClass = false)
    static class Transactions {}

    static class Circle {

        @DistributedLocked(name = "stock", fallbackMethod = "second")
        public String first() {
            throw new AssertionError();
        }

        @DistributedLocked(name = "stock", fallbackMethod = "first")
        public String second() {
            throw new AssertionError();
        }
    }

    private static String state() {
        String held = LockContext.current().map(lease -> "locked").orElse("unlocked");
        return held + (TransactionSynchronizationManager.isActualTransactionActive() ? ", in a transaction" : "");
    }

    @Transactional
    static class Shop {

        private final Sales sales;

        Shop(Sales sales) {
            this.sales = sales;
        }

        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public String sell() {
            throw new AssertionError();
        }

        @DistributedLocked("queue")
        protected String busy() {
            return state();
        }

        @DistributedLocked(name = "stock", fallbackMethod = "busyLater")
        public CompletableFuture<String> sellLater() {
            throw new AssertionError();
        }

        @DistributedLocked(name = "stock", fallbackMethod = "busyReactively")
        public Mono<String> sellReactively() {
            throw new AssertionError();
        }

        @DistributedLocked(name = "stock", fallbackMethod = "busyForFriends")
        public String sellForFriends() {
            throw new AssertionError();
        }

        @DistributedLocked("queue")
        String busyForFriends() {
            return state();
        }

        @DistributedLocked("queue")
        public CompletableFuture<String> busyLater() {
            return CompletableFuture.completedFuture(state());
        }

        @DistributedLocked("queue")
        public Mono<String> busyReactively() {
            return Mono.just(state());
        }

        @DistributedLocked(name = "stock", fallbackMethod = "busyLending")
        public String lend() {
            throw new AssertionError();
        }

        protected String busyLending() {
            return "lent by a " + (sales == null ? "proxy" : "bean") + state().replace("unlocked", "");
        }
    }

    interface Counter {
        String count();

        String busy();

        String countHidden();
    }

    interface GenericCounter<T> {
        String count(T item);

        String busy(T item);
    }

    static class TextCounter implements GenericCounter<String> {

        @Override
        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public String count(String item) {
            throw new AssertionError();
        }

        @Override
        @DistributedLocked("queue")
        public String busy(String item) {
            return state();
        }
    }

    static class CounterImplementation implements Counter {

        @Override
        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public String count() {
            throw new AssertionError();
        }

        @Override
        @DistributedLocked("queue")
        public String busy() {
            return state();
        }

        @Override
        @DistributedLocked(name = "stock", fallbackMethod = "hidden")
        public String countHidden() {
            throw new AssertionError();
        }

        public String hidden() {
            return "hidden";
        }
    }

    static class Hiding {

        private final String field = "field of the bean";

        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public String sell() {
            throw new AssertionError();
        }

        @SuppressWarnings("unused") // Called by its name.
        @Transactional
        private String busy() {
            return field;
        }
    }

    @SuppressWarnings("unused") // The fallbacks are called by their names.
    static class HidingAdvice {

        @DistributedLocked(fallbackMethod = "later")
        public void first() {}

        @Async
        private void later() {}

        @DistributedLocked(fallbackMethod = "cached")
        public void second() {}

        @CacheEvict("sales")
        final void cached() {}

        @DistributedLocked(fallbackMethod = "secured")
        public void third() {}

        @PreAuthorize("denyAll")
        private void secured() {}

        @DistributedLocked(fallbackMethod = "plain")
        public void fourth() {}

        @Deprecated
        private void plain() {}
    }

    static class Wrong {

        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public String sell() {
            throw new AssertionError();
        }

        @SuppressWarnings("unused") // Called by its name.
        @DistributedLocked("queue")
        private String busy() {
            return "";
        }
    }
}
