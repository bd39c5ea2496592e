/* SPDX-License-Identifier: Apache-2.0 */
package com.acme;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.springframework.aop.support.AopUtils;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AdviceMode;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.AliasFor;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import reactor.core.publisher.Mono;

/**
 * Runs in a JVM of its own, and prints what each call of an annotated method holds. In the package that the
 * documentation lets AspectJ weave.
 */
public final class WovenApplication {

    private WovenApplication() {}

    /** Starts the application, calls everything and ends. */
    public static void main(String[] args) {
        say("before the start " + new Shop().unlocked() + " " + new Shop().unlocked());
        SpringApplication application = new SpringApplication(Beans.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.setLogStartupInfo(false);
        try (ConfigurableApplicationContext context = application.run(args)) {
            Shop shop = context.getBean(Shop.class);
            say("proxied " + AopUtils.isAopProxy(shop));
            say("public " + shop.sell("lamp"));
            say("self-invoked " + shop.callItself("lamp"));
            say("private " + shop.callPrivate("lamp"));
            say("final " + shop.finalMethod("lamp"));
            say("composed " + shop.composed("lamp"));
            say("bridge " + callGeneric(context.getBean(TextHandler.class)));
            say("final class " + context.getBean(Sealed.class).sell());
            say("not a bean " + new Shop().sell("chair"));
            say("nobody waits: " + shop.busy());
            say("stage " + shop.stage("lamp").join());
            say("stage that waits " + shop.waitingStage().join());
            Mono<List<String>> publisher = shop.publisher();
            say("publisher " + publisher.block() + " " + publisher.block());
            say("publisher that waits " + shop.waitingPublisher().block());
            say("overridden " + new Outlet().stock());
            say("suspending " + suspending());
            context.getBean(Transactions.class).events.clear();
            context.getBean(Seller.class).sell();
            say("transaction " + context.getBean(Transactions.class).events);
            say("acquired " + context.getBean(Counter.class).acquired.get());
        }
        say("after the end " + new Shop().unlocked() + " " + new Shop().unlocked());
        for (String property : List.of("lockkeeper.mode=proxy", "lockkeeper.enabled=false")) {
            SpringApplication later = new SpringApplication(TextHandler.class, LockkeeperAutoConfiguration.class);
            later.setWebApplicationType(WebApplicationType.NONE);
            try (ConfigurableApplicationContext context = later.run("--lockkeeper.store=memory", "--" + property)) {
                say("with " + property + " " + callGeneric(context.getBean(TextHandler.class)));
            }
        }
        say("done");
    }

    private static <T> List<String> callGeneric(Handler<T> handler) {
        @SuppressWarnings("unchecked")
        T input = (T) "text";
        return handler.handle(input);
    }

    private static String suspending() {
        try {
            return "ran: " + Kiosk.sold(new Kiosk()).join();
        } catch (CompletionException failure) {
            return String.valueOf(failure.getCause().getMessage());
        }
    }

    private static void say(String line) {
        System.out.println(line);
    }

    private static List<String> held() {
        return LockContext.current().map(LockLease::names).orElse(List.of("nothing"));
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(mode = AdviceMode.ASPECTJ)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    static class Beans {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        TextHandler handler() {
            return new TextHandler();
        }

        @Bean
        Sealed sealed() {
            return new Sealed();
        }

        @Bean
        Counter counter(Transactions transactions) {
            return new Counter(transactions);
        }

        @Bean
        Transactions transactions() {
            return new Transactions();
        }

        @Bean
        Seller seller() {
            return new Seller();
        }
    }

    static class Counter implements LockListener {
        private final AtomicInteger acquired = new AtomicInteger();
        private final Transactions transactions;

        Counter(Transactions transactions) {
            this.transactions = transactions;
        }

        @Override
        public void onAcquired(Acquired event) {
            acquired.incrementAndGet();
            transactions.events.add("lock");
        }

        @Override
        public void onReleased(Released event) {
            transactions.events.add("release");
        }
    }

    /** Transactions of nothing. */
    static class Transactions extends AbstractPlatformTransactionManager {

        private static final long serialVersionUID = 1L;
        private final List<String> events = new CopyOnWriteArrayList<>();

        @Override
        protected Object doGetTransaction() {
            return events;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            events.add("begin");
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            events.add("commit");
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
            events.add("rollback");
        }
    }

    static class Seller {
        @Transactional
        @DistributedLocked("transaction")
        void sell() {}
    }

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked(waitTime = "1s")
    @interface Exclusive {
        @AliasFor(annotation = DistributedLocked.class, attribute = "name")
        String[] key();
    }

    @SuppressWarnings("UnusedVariable")
    static class Shop {

        @DistributedLocked("stock:#{#product}")
        public List<String> sell(String product) {
            return held();
        }

        List<String> callItself(String product) {
            return sell(product);
        }

        List<String> callPrivate(String product) {
            return privateMethod(product);
        }

        @DistributedLocked("private:#{#product}")
        private List<String> privateMethod(String product) {
            return held();
        }

        @DistributedLocked("final:#{#product}")
        final List<String> finalMethod(String product) {
            return held();
        }

        @Exclusive(key = "composed:#{#product}")
        List<String> composed(String product) {
            return held();
        }

        @DistributedLocked("unlocked")
        List<String> unlocked() {
            return held();
        }

        /** Another thread holds the lock meanwhile. */
        String busy() {
            String[] answer = new String[1];
            hold(() -> answer[0] = trying());
            return answer[0];
        }

        @DistributedLocked("stage:#{#product}")
        CompletableFuture<List<String>> stage(String product) {
            return CompletableFuture.completedFuture(held());
        }

        /** Begins on a thread of the template, because another one holds the lock. */
        CompletableFuture<List<String>> waitingStage() {
            return meanwhile(this::patientStage);
        }

        Mono<List<String>> waitingPublisher() {
            return Mono.fromFuture(meanwhile(() -> patientPublisher().toFuture()));
        }

        private <T> CompletableFuture<T> meanwhile(Supplier<CompletableFuture<T>> call) {
            List<CompletableFuture<T>> called = new ArrayList<>();
            hold(() -> called.add(call.get()));
            return called.get(0);
        }

        @DistributedLocked("busy")
        private CompletableFuture<List<String>> patientStage() {
            return CompletableFuture.completedFuture(held());
        }

        @DistributedLocked("busy")
        private Mono<List<String>> patientPublisher() {
            return Mono.just(held());
        }

        @DistributedLocked("publisher")
        Mono<List<String>> publisher() {
            return Mono.just(held());
        }

        @DistributedLocked("stock of the shop")
        List<String> stock() {
            return held();
        }

        @DistributedLocked("busy")
        private void hold(Runnable meanwhile) {
            Thread other = new Thread(meanwhile);
            other.start();
            try {
                other.join();
            } catch (InterruptedException interrupt) {
                throw new IllegalStateException(interrupt);
            }
        }

        @DistributedLocked(name = "busy", waitTime = "0s", fallbackMethod = "fallback")
        private String trying() {
            return "ran";
        }

        @SuppressWarnings("unused")
        private String fallback(LockNotAcquiredException held) {
            return "fallback for " + held.names().get(0).toUpperCase(Locale.ROOT);
        }
    }

    /** Each of the two methods has its own lock. */
    static class Outlet extends Shop {
        @Override
        @DistributedLocked("stock of the outlet")
        List<String> stock() {
            List<String> all = new ArrayList<>(held());
            all.addAll(super.stock());
            return all;
        }
    }

    interface Handler<T> {
        List<String> handle(T input);
    }

    static class TextHandler implements Handler<String> {
        @Override
        @DistributedLocked("handled:#{#input}")
        public List<String> handle(String input) {
            return held();
        }
    }

    static final class Sealed {
        @DistributedLocked("sealed")
        List<String> sell() {
            return held();
        }
    }
}
