/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.whileHeldElsewhere;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.redis.RedisLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.testing.RedisServer;
import jakarta.validation.ConstraintViolationException;
import jakarta.validation.constraints.NotEmpty;
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ClassUtils;
import org.springframework.validation.annotation.Validated;

/** Unusual applications that are right as they are written. */
class ValidApplicationsTest {

    private final ApplicationContextRunner runner = LockedApplication.runner();
    private final LogRecorder log = new LogRecorder(LockTemplate.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    @Test
    void aLazyBeanMayBeDeclaredByAnAbstractClassThatOnlyItsOwnClassesExtend() {
        LockedApplication.runner().withUserConfiguration(Closed.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(ByPermission.class).held()).containsExactly("permitted");
            assertThat(context.getBean(ByConstructor.class).held()).containsExactly("nested");
        });
    }

    @Test
    void anObjectMayHaveAMethodForALibraryThatIsNotThere() {
        Object product = unreadable(Goods.class);
        runner.withInitializer(context -> context.getBeanFactory().registerSingleton("given", product))
                .withBean("products", List.class, () -> List.of(product))
                .withBean("made", FactoryBean.class, () -> new FactoryOf(product))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBean("made")).isSameAs(product);
                });
    }

    /** Nothing can tell which of its methods are to be locked. */
    @Test
    void anObjectWithSuchAMethodAndALockIsRefused() {
        Object product = unreadable(LockedGoods.class);
        runner.withBean("made", FactoryBean.class, () -> new FactoryOf(product))
                .run(context -> assertThatExceptionOfType(BeanCreationException.class)
                        .isThrownBy(() -> context.getBean("made"))
                        .withStackTraceContaining("Failed to introspect Class [" + LockedGoods.class.getName() + "]"));
    }

    /** Returns an object of a class with a method that names a class which its class loader does not find. */
    private static Object unreadable(Class<?> type) {
        ClassLoader loader = new ClassLoader(ValidApplicationsTest.class.getClassLoader()) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.equals(Absent.class.getName())) {
                    throw new ClassNotFoundException(name);
                } else if (!name.equals(type.getName())) {
                    return super.loadClass(name, resolve);
                }
                try (InputStream file = type.getResourceAsStream(ClassUtils.getClassFileName(type))) {
                    byte[] code = file.readAllBytes();
                    return defineClass(name, code, 0, code.length);
                } catch (IOException unreadable) {
                    throw new ClassNotFoundException(name, unreadable);
                }
            }
        };
        return BeanUtils.instantiateClass(ClassUtils.resolveClassName(type.getName(), loader));
    }

    record FactoryOf(Object product) implements FactoryBean<Object> {
        @Override
        public Object getObject() {
            return product;
        }

        @Override
        public Class<?> getObjectType() {
            return product.getClass();
        }
    }

    static class Absent {}

    public static class Goods {
        public Goods() {}

        public void use(Absent optional) {}
    }

    public static class LockedGoods {
        public LockedGoods() {}

        @Exclusive
        public void sell() {}

        public void use(Absent optional) {}
    }

    @DistributedLocked("exclusive")
    @Retention(RetentionPolicy.RUNTIME)
    @interface Exclusive {}

    @Test
    void aSecondTemplateThatIsNoDefaultCandidateIsNotAmbiguous() {
        runner.withUserConfiguration(SecondTemplate.class).withBean(Shop.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(Shop.class).sell()).isEqualTo("sold");
            try (LockLease lease = context.getBean("first", LockTemplate.class).acquire("stock")) {
                assertThat(context.getBean(Shop.class).sell()).isEqualTo("busy");
                assertThat(lease.isHeld()).isTrue();
            }
        });
    }

    @Test
    void anAsynchronousMethodMayReturnTheFutureOfSpring() {
        runner.withUserConfiguration(Asynchronous.class)
                .withBean(AsyncShop.class)
                .run(context -> {
                    AsyncShop shop = context.getBean(AsyncShop.class);
                    assertThat(shop.sell().get(20, TimeUnit.SECONDS)).isEqualTo("sold under its lock");
                    whileHeldElsewhere(
                            context, "stock", () -> assertThat(shop.sell().get(20, TimeUnit.SECONDS))
                                    .isEqualTo("busy"));
                });
    }

    @Test
    void theAnnotationOfAsynchronousMethodsMayBeAnotherOne() {
        runner.withUserConfiguration(Background.class)
                .withBean(BackgroundShop.class)
                .run(context -> {
                    Future<String> thread =
                            context.getBean(BackgroundShop.class).sell();
                    assertThat(thread.get(20, TimeUnit.SECONDS))
                            .isNotEqualTo(Thread.currentThread().getName());
                });
    }

    @Test
    void theProductOfAFactoryMayHaveTheFallbackInASubclass() {
        runner.withBean(ProductFactory.class).run(context -> {
            assertThat(context).hasNotFailed();
            Product product = context.getBean(Product.class);
            assertThat(product.sell()).isEqualTo("sold");
            whileHeldElsewhere(
                    context, "product", () -> assertThat(product.sell()).isEqualTo("busy"));
        });
    }

    @Test
    void theConnectionsMayBeThoseOfTheParent() {
        try (RedisServer redis = RedisServer.start();
                AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext()) {
            parent.registerBean(
                    "connections",
                    RedisConnectionFactory.class,
                    () -> new JedisConnectionFactory(new RedisStandaloneConfiguration(redis.host(), redis.port())));
            parent.refresh();
            for (String name : List.of("", "connections")) {
                new ApplicationContextRunner()
                        .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
                        .withPropertyValues("lockkeeper.redis.connection-factory=" + name)
                        .withParent(parent)
                        .withBean(Shop.class)
                        .run(context -> {
                            assertThat(context).hasNotFailed();
                            assertThat(context.getBean(LockStore.class)).isInstanceOf(RedisLockStore.class);
                            assertThat(context.getBean(Shop.class).sell()).isEqualTo("sold");
                        });
            }
        }
    }

    @Test
    void theNamesOfFallbacksAndTemplatesMayBeProperties() {
        runner.withPropertyValues("shop.fallback=busy", "shop.template=lockTemplate")
                .withBean(ConfiguredShop.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    whileHeldElsewhere(context, "stock", () -> assertThat(
                                    context.getBean(ConfiguredShop.class).sell())
                            .isEqualTo("busy"));
                });
        runner.withBean(ConfiguredShop.class).run(context -> assertThat(context.getStartupFailure())
                .hasMessageContaining("fallbackMethod: '${shop.fallback}'")
                .hasMessageContaining("lockTemplate: '${shop.template}'"));
    }

    @Test
    void methodsOfClassesWithTheSameNameAreToldApart() {
        runner.withUserConfiguration(SalesDatabase.class, Transactions.class)
                .withBean("one", Orders.class)
                .withBean("other", io.lockkeeper.interceptor.other.Orders.class)
                .run(context -> {
                    TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
                    transactions.executeWithoutResult(
                            status -> context.getBean(Orders.class).pay());
                    transactions.executeWithoutResult(
                            status -> context.getBean(io.lockkeeper.interceptor.other.Orders.class)
                                    .pay());
                    assertThat(log.lines())
                            .hasSize(2)
                            .anyMatch(line -> line.startsWith("WARN " + Orders.class.getName() + ".pay asks"))
                            .anyMatch(line -> line.startsWith("WARN io.lockkeeper.interceptor.other.Orders.pay asks"));
                });
    }

    @Test
    void anInvalidCallDoesNotWaitForTheLock() {
        runner.withConfiguration(AutoConfigurations.of(validation()))
                .withUserConfiguration(SalesDatabase.class, Transactions.class)
                .withBean(ValidatedShop.class)
                .run(context -> {
                    ValidatedShop shop = context.getBean(ValidatedShop.class);
                    assertThatExceptionOfType(ConstraintViolationException.class)
                            .isThrownBy(() -> shop.sell(null));
                    whileHeldElsewhere(
                            context, "stock:", () -> assertThatExceptionOfType(ConstraintViolationException.class)
                                    .isThrownBy(() -> shop.sell("")));
                    assertThat(shop.sell("lamp")).isEqualTo("sold");
                });
    }

    @Test
    void aFailedStartDoesNotWaitForTheLockOfItsThread() {
        assertTimeoutPreemptively(Duration.ofSeconds(15), () -> runner.withBean(Leader.class)
                .withBean("failing", Object.class, () -> {
                    throw new IllegalStateException("own");
                })
                .run(context -> assertThat(context.getStartupFailure()).hasRootCauseMessage("own")));
    }

    @Test
    void beansOfAChildThatTheAdvisorLocksAreChecked() {
        runner.run(parent -> {
            try (AnnotationConfigApplicationContext child = child(parent, Shop.class)) {
                child.refresh();
                try (LockLease lease = parent.getBean(LockTemplate.class).acquire("stock")) {
                    assertThat(child.getBean(Shop.class).sell()).isEqualTo("busy");
                    assertThat(lease.isHeld()).isTrue();
                }
            }
            try (AnnotationConfigApplicationContext child = child(parent, FinalShop.class)) {
                assertThatExceptionOfType(DistributedLockedConfigurationException.class)
                        .isThrownBy(child::refresh)
                        .withMessageContaining("FinalShop.sell(): is final");
            }
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                AopConfigUtils.registerAutoProxyCreatorIfNecessary(child);
                child.register(Shop.class);
                assertThatExceptionOfType(DistributedLockedConfigurationException.class)
                        .isThrownBy(child::refresh)
                        .withMessageContaining("a child context, whose auto-proxy creator does not look for advisors");
            }
            try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
                child.setParent(parent);
                child.register(Shop.class);
                assertThatExceptionOfType(LockingMissingException.class)
                        .isThrownBy(child::refresh)
                        .withMessageContaining("no auto-proxy creator")
                        .satisfies(missing -> assertThat(missing.remedy()).contains("run in a child context, too"));
            }
        });
    }

    private static AnnotationConfigApplicationContext child(ApplicationContext parent, Class<?> bean) {
        AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext();
        child.setParent(parent);
        child.register(bean);
        AopConfigUtils.registerAspectJAnnotationAutoProxyCreatorIfNecessary(child);
        AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(child);
        return child;
    }

    private static Class<?> validation() {
        String name = "org.springframework.boot.validation.autoconfigure.ValidationAutoConfiguration";
        return ClassUtils.resolveClassName(
                ClassUtils.isPresent(name, null)
                        ? name
                        : "org.springframework.boot.autoconfigure.validation.ValidationAutoConfiguration",
                null);
    }

    @Validated
    static class ValidatedShop {
        @Transactional
        @DistributedLocked("stock:#{#name}")
        public String sell(@NotEmpty String name) {
            return "sold";
        }
    }

    static class FinalShop {
        @DistributedLocked("stock")
        public final String sell() {
            return "sold";
        }
    }

    /** Holds a lock as long as the application runs, and forgets to release it. */
    static class Leader {

        private final LockLease lease;

        Leader(LockOperations locks) {
            lease = locks.acquire("leader");
        }

        boolean isLeader() {
            return lease.isHeld();
        }
    }

    static class SecondTemplate {
        @Bean
        LockTemplate first() {
            return template();
        }

        @Bean(defaultCandidate = false)
        LockTemplate second() {
            return template();
        }

        private static LockTemplate template() {
            return LockTemplate.builder(new MemoryLockStore())
                    .waitTime(Duration.ZERO)
                    .build();
        }
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    @EnableAsync(proxyTargetClass = true)
    static class Asynchronous {}

    @Retention(RetentionPolicy.RUNTIME)
    @interface InBackground {}

    @EnableAsync(annotation = InBackground.class, proxyTargetClass = true)
    static class Background {}

    static class BackgroundShop {
        @InBackground
        @DistributedLocked("stock")
        public Future<String> sell() {
            return CompletableFuture.completedFuture(Thread.currentThread().getName());
        }
    }

    static class Shop {
        @DistributedLocked(name = "stock", fallbackMethod = "busy", waitTime = "0s")
        public String sell() {
            return "sold";
        }

        String busy() {
            return "busy";
        }
    }

    static class ConfiguredShop {

        @DistributedLocked(name = "stock", fallbackMethod = "${shop.fallback}", lockTemplate = "${shop.template}")
        public String sell() {
            return "sold";
        }

        String busy() {
            return "busy";
        }
    }

    static class AsyncShop {

        private final LockOperations locks;

        AsyncShop(LockOperations locks) {
            this.locks = locks;
        }

        @Async
        @DistributedLocked(name = "stock", fallbackMethod = "busy")
        public Future<String> sell() {
            return CompletableFuture.completedFuture(
                    "sold under its " + (locks.lock("stock").isHeldByCurrentThread() ? "lock" : "shop"));
        }

        @SuppressWarnings("unused") // Called by its name.
        private Future<String> busy() {
            return CompletableFuture.completedFuture("busy");
        }
    }

    abstract static class Product {
        @DistributedLocked(name = "product", fallbackMethod = "busy")
        public String sell() {
            return "sold";
        }
    }

    static class SpecialProduct extends Product {
        String busy() {
            return "busy";
        }
    }

    static class ProductFactory implements FactoryBean<Product> {
        @Override
        public Product getObject() {
            return new SpecialProduct();
        }

        @Override
        public Class<?> getObjectType() {
            return Product.class;
        }
    }

    static class Orders {
        @DistributedLocked("orders")
        public void pay() {
            // Only its lock matters.
        }
    }

    abstract static sealed class ByPermission {
        @DistributedLocked("permitted")
        public abstract List<String> held();

        static non-sealed class Permitted extends ByPermission {
            @Override
            public List<String> held() {
                return LockContext.require().names();
            }
        }
    }

    abstract static class ByConstructor {
        private ByConstructor() {}

        @DistributedLocked("nested")
        public List<String> held() {
            return LockContext.require().names();
        }

        static class Nested extends ByConstructor {}
    }

    @Configuration(proxyBeanMethods = false)
    static class Closed {
        @Bean
        @Lazy
        ByPermission permitted() {
            return new ByPermission.Permitted();
        }

        @Bean
        @Lazy
        ByConstructor nested() {
            return new ByConstructor.Nested();
        }
    }
}
