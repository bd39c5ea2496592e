/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockOperations;
import io.lockkeeper.LockTemplate;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.support.locks.DefaultLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;

/** A registry is there where an application has none, found in the adapter's own jar. */
class LockkeeperLockRegistryAutoConfigurationTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withUserConfiguration(Application.class)
            .withPropertyValues("lockkeeper.store=memory");

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    @Test
    void theRegistryLocksWithTheTemplateOfTheApplication() {
        runner.run(context -> {
            LockRegistry<?> registry = context.getBean(LockRegistry.class);
            assertThat(registry).isInstanceOf(LockkeeperLockRegistry.class);
            registry.executeLocked("stock", () -> assertThat(
                            context.getBean(LockTemplate.class).inspector().heldHere())
                    .singleElement()
                    .satisfies(status -> assertThat(status.name()).isEqualTo("stock")));
        });
    }

    @Test
    void aRegistryOfTheApplicationStays() {
        runner.withBean(LockRegistry.class, DefaultLockRegistry::new)
                .run(context -> assertThat(context).doesNotHaveBean(LockkeeperLockRegistry.class));
    }

    @Test
    void ofSeveralTemplatesNoneIsChosen() {
        runner.withBean("one", LockOperations.class, LockOperations::withoutLocking)
                .withBean("two", LockOperations.class, LockOperations::withoutLocking)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockRegistry.class));
    }

    @Test
    void lockingThatIsSwitchedOffLocksNothing() {
        runner.withPropertyValues("lockkeeper.enabled=false").run(context -> {
            LockRegistry<?> registry = context.getBean(LockRegistry.class);
            assertThat(registry.obtain("stock").tryLock()).isTrue();
            registry.obtain("stock").unlock();
        });
    }
}
