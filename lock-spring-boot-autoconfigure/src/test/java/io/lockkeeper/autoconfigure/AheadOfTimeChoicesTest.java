/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.lockkeeper.LockContext;
import io.lockkeeper.annotation.DistributedLocked;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.TestCompiler;

/** Applications that are processed ahead of time with other properties than those with which they run. */
@CompileWithForkedClassLoader
class AheadOfTimeChoicesTest {

    private static final Map<String, Object> QUORUM =
            Map.of("lockkeeper.redis.quorum.nodes", "redis://:secret@one,redis://two,redis://three");

    private static final Map<String, Object> MEMORY = Map.of("lockkeeper.store", "memory");

    @Test
    void methodsAreLockedWhereTheChoiceIsTheSame() {
        assertThat(failure(MEMORY, Map.of("lockkeeper.store", "Memory "))).isNull();
    }

    @Test
    void whatWasBuiltNotToLockDoesNotRunWhereItShallLock() {
        assertThat(failure(Map.of("lockkeeper.enabled", "off"), Map.of()))
                .rootCause()
                .hasMessageContaining("lockkeeper.enabled is true, but was false when the beans");
    }

    @Test
    void whatWasBuiltForOneProcessDoesNotRunWhereLocksAreShared() {
        assertThat(failure(MEMORY, Map.of("lockkeeper.store", "redis")))
                .rootCause()
                .hasMessageContaining("lockkeeper.store is redis, but was memory when the beans");
    }

    @Test
    void whatWasBuiltForOneRedisDoesNotRunWithAQuorum() {
        assertThat(failure(Map.of(), QUORUM))
                .rootCause()
                .hasMessageContaining("lockkeeper.redis.quorum.nodes is set, but was empty when the beans");
    }

    @Test
    void whatWasBuiltForAQuorumDoesNotRunWithOneRedis() {
        assertThat(failure(QUORUM, Map.of()))
                .rootCause()
                .hasMessageContaining("lockkeeper.redis.quorum.nodes is empty, but was set when the beans");
    }

    private static @Nullable Throwable failure(Map<String, Object> built, Map<String, Object> run) {
        TestGenerationContext generation = new TestGenerationContext();
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            with(context, built).register(Application.class);
            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
        }
        generation.writeGeneratedContent();
        Throwable[] failure = new Throwable[1];
        TestCompiler.forSystem().with(generation).compile(compiled -> {
            @SuppressWarnings("unchecked")
            ApplicationContextInitializer<GenericApplicationContext> beans =
                    compiled.getInstance(ApplicationContextInitializer.class);
            failure[0] = catchThrowable(() -> start(beans, run));
        });
        return failure[0];
    }

    private static void start(
            ApplicationContextInitializer<GenericApplicationContext> beans, Map<String, Object> properties) {
        try (GenericApplicationContext context = with(new GenericApplicationContext(), properties)) {
            beans.initialize(context);
            context.refresh();
            assertThat(context.getBean(Shop.class).name()).isEqualTo("stock");
        }
    }

    private static <C extends ConfigurableApplicationContext> C with(C context, Map<String, Object> properties) {
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
        return context;
    }

    @Configuration(proxyBeanMethods = false)
    @Import(LockkeeperAutoConfiguration.class)
    static class Application {
        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    static class Shop {
        @DistributedLocked("stock")
        public String name() {
            return LockContext.require().name();
        }
    }
}
