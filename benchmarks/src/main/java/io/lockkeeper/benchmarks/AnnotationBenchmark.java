/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.LockOperations;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.concurrent.TimeUnit;
import org.aopalliance.intercept.MethodInterceptor;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * What the annotation itself costs, without any lock below it: a call through a proxy that only proceeds, and one that
 * makes the name of a lock from an expression and enters operations that lock nothing.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class AnnotationBenchmark {

    private final Order order = new Order("lamp");
    private ConfigurableApplicationContext context;
    private Shop bare;
    private Shop proxied;
    private Shop locked;
    private LockOperations locks;

    /** Starts an application with one annotated bean. */
    @Setup
    public void start() {
        SpringApplication application = new SpringApplication(Application.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.setLogStartupInfo(false);
        context = application.run();
        locked = context.getBean(Shop.class);
        locks = context.getBean(LockOperations.class);
        bare = new Shop();
        ProxyFactory factory = new ProxyFactory(new Shop());
        factory.setProxyTargetClass(true);
        factory.addAdvice((MethodInterceptor) call -> call.proceed());
        proxied = (Shop) factory.getProxy();
    }

    /** Ends the application. */
    @TearDown
    public void stop() {
        context.close();
    }

    /** The method itself. */
    @Benchmark
    public int method() {
        return bare.sell(order);
    }

    /** The method behind a proxy that does nothing. */
    @Benchmark
    public int bareProxy() {
        return proxied.sell(order);
    }

    /** The annotated method, with a name from an expression. */
    @Benchmark
    public int annotation() {
        return locked.sell(order);
    }

    /** The annotated method, with a name from a parameter. */
    @Benchmark
    public int annotationOfParameter() {
        return locked.sellById(order.id());
    }

    /** The annotated method, with a constant name. */
    @Benchmark
    public int annotationOfConstant() {
        return locked.sellLamp(order);
    }

    /** The same lock with the template. */
    @Benchmark
    public int template() {
        return locks.<Integer, RuntimeException>execute("order:" + order.id(), lease -> bare.sell(order));
    }

    /** A constant lock with the template. */
    @Benchmark
    public int templateOfConstant() {
        return locks.<Integer, RuntimeException>execute("order:lamp", lease -> bare.sell(order));
    }

    /** What a method is called with. */
    public record Order(String id) {}

    /** A bean with an annotated method. */
    public static class Shop {

        /** Does nothing. */
        @DistributedLocked("order:#{#order.id}")
        public int sell(Order order) {
            return order.id().length();
        }

        /** Does nothing. */
        @DistributedLocked("order:#{#id}")
        public int sellById(String id) {
            return id.length();
        }

        /** Does nothing. */
        @DistributedLocked("order:lamp")
        public int sellLamp(Order order) {
            return order.id().length();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockkeeperAutoConfiguration.class)
    static class Application {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        LockOperations locks() {
            return LockOperations.withoutLocking();
        }
    }
}
