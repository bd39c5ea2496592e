/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.actuate.LockkeeperEndpointAutoConfiguration;
import io.lockkeeper.autoconfigure.actuate.LocksDescription;
import io.lockkeeper.redis.RedisLockStore;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.springframework.aot.generate.GenerationContext;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeHint;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.core.annotation.AliasFor;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

/** What a native image must keep, as it is found when an application is processed ahead of time. */
class AheadOfTimeTest {

    private final RuntimeHints hints = processed().getRuntimeHints();

    @Test
    void everyScriptIsKept() throws IOException {
        Resource[] scripts = new PathMatchingResourcePatternResolver(RedisLockStore.class.getClassLoader())
                .getResources("classpath:io/lockkeeper/redis/*.lua");
        assertThat(scripts).isNotEmpty();
        for (Resource script : scripts) {
            assertKept(RuntimeHintsPredicates.resource().forResource("io/lockkeeper/redis/" + script.getFilename()));
        }
    }

    @Test
    void theAnnotationAndThoseComposedOfItAreKept() {
        assertKept(RuntimeHintsPredicates.proxies().forInterfaces(DistributedLocked.class));
        for (Class<?> annotation :
                new Class<?>[] {DistributedLocked.class, Direct.class, Exclusive.class, Nightly.class}) {
            assertKept(RuntimeHintsPredicates.reflection()
                    .onType(annotation)
                    .withMemberCategory(MemberCategory.INVOKE_DECLARED_METHODS));
        }
    }

    @Test
    void annotatedMethodsAndTheirFallbacksAreKept() {
        for (String method : new String[] {"pay", "composed", "privateFallback", "otherFallback"}) {
            assertInvocable(method(Shop.class, method));
        }
        assertInvocable(method(Base.class, "inheritedFallback"));
    }

    @Test
    void whatAnExpressionReadsIsKept() {
        assertInvocable(method(Order.class, "getCustomer"));
        assertInvocable(method(Customer.class, "id"));
        for (Class<?> called : new Class<?>[] {Order.class, Tenants.class, String.class, Method.class, Class.class}) {
            assertKept(RuntimeHintsPredicates.reflection()
                    .onType(called)
                    .withMemberCategory(MemberCategory.INVOKE_PUBLIC_METHODS));
        }
    }

    @Test
    void everyAnswerOfTheEndpointIsKept() {
        for (Class<?> answer : LocksDescription.class.getPermittedSubclasses()) {
            for (RecordComponent component : answer.getRecordComponents()) {
                assertInvocable(component.getAccessor());
            }
        }
    }

    /** Without the predicate for methods, whose name depends on the version of Spring. */
    private void assertInvocable(Method method) {
        TypeHint type = hints.reflection().getTypeHint(method.getDeclaringClass());
        assertThat(type).as(method.toString()).isNotNull();
        assertThat(type.methods())
                .as(method.toString())
                .anyMatch(hint -> hint.getName().equals(method.getName()) && hint.getMode() == ExecutableMode.INVOKE);
    }

    private void assertKept(Predicate<RuntimeHints> hint) {
        assertThat(hint).as(hint.toString()).accepts(hints);
    }

    private static Method method(Class<?> type, String name) {
        return Arrays.stream(type.getDeclaredMethods())
                .filter(method -> method.getName().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static GenerationContext processed() {
        TestGenerationContext generation = new TestGenerationContext();
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.getEnvironment()
                    .getPropertySources()
                    .addFirst(new MapPropertySource(
                            "test",
                            Map.of(
                                    "lockkeeper.store",
                                    "memory",
                                    "management.endpoints.web.exposure.include",
                                    "locks")));
            context.register(Application.class);
            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
        }
        generation.writeGeneratedContent();
        return generation;
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({LockkeeperAutoConfiguration.class, LockkeeperEndpointAutoConfiguration.class})
    static class Application {
        @Bean("tenants")
        Tenants tenants() {
            return new Tenants();
        }

        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked(mode = LockMode.FAIR)
    @interface Exclusive {
        @AliasFor(annotation = DistributedLocked.class, attribute = "name")
        String[] key();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @DistributedLocked
    @interface Direct {
        @AliasFor(annotation = DistributedLocked.class, attribute = "name")
        String[] key();
    }

    /** Two steps away from the annotation. */
    @Retention(RetentionPolicy.RUNTIME)
    @Exclusive(key = "nightly")
    @interface Nightly {}

    static class Base {
        @SuppressWarnings("unused")
        private void inheritedFallback() {}
    }

    @SuppressWarnings({"unused", "UnusedVariable"})
    static class Shop extends Base {

        @DistributedLocked(name = "order:#{#order.customer.id}", fallbackMethod = "privateFallback")
        public void pay(Order order) {}

        private void privateFallback(Order order, LockNotAcquiredException held) {}

        @Direct(key = "#{@tenants.current()}:#{#root.method.name}:#{#name.toLowerCase()}")
        public void composed(String name) {}

        @Nightly
        public void nightly() {}

        @DistributedLocked(name = "other", fallbackMethod = "otherFallback")
        public void other() {}

        void otherFallback() {}

        @DistributedLocked(name = "inherited", fallbackMethod = "inheritedFallback")
        public void inherited() {}
    }

    static class Tenants {
        public String current() {
            return "t";
        }
    }

    static class Order {
        public Customer getCustomer() {
            return new Customer("c");
        }
    }

    record Customer(String id) {}
}
