/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;

class ShutdownOrderTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockkeeperAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory");

    @Test
    void theTemplateClosesAfterWhatUsesItAndBeforeConnectionFactoriesStop() {
        AtomicReference<Boolean> server = new AtomicReference<>();
        AtomicReference<Boolean> factory = new AtomicReference<>();
        runner.withBean("server", Probe.class, () -> new Probe(SmartLifecycle.DEFAULT_PHASE - 2048))
                .withBean("factory", Probe.class, () -> new Probe(0))
                .run(context -> {
                    LockTemplate template = context.getBean(LockTemplate.class);
                    context.getBean("server", Probe.class).onStop(() -> server.set(locks(template)));
                    context.getBean("factory", Probe.class).onStop(() -> factory.set(locks(template)));
                });
        assertThat(server).hasValue(true);
        assertThat(factory).hasValue(false);
    }

    @Test
    void aContextThatIsStoppedAndStartedAgainKeepsItsTemplate() {
        runner.run(context -> {
            ConfigurableApplicationContext application = context.getSourceApplicationContext();
            application.stop();
            application.start();
            assertThat(locks(context.getBean(LockTemplate.class))).isTrue();
        });
    }

    @Test
    void aTemplateOfTheApplicationClosesToo() {
        AtomicReference<LockTemplate> own = new AtomicReference<>();
        runner.withBean(LockTemplate.class, () -> LockTemplate.builder(new MemoryLockStore())
                        .build())
                .run(context -> own.set(context.getBean(LockTemplate.class)));
        assertThat(locks(own.get())).isFalse();
    }

    @Test
    void aTemplateWithoutADestroyMethodIsLeftOpen() {
        AtomicReference<LockTemplate> kept = new AtomicReference<>();
        runner.withUserConfiguration(Keeping.class).run(context -> kept.set(context.getBean(LockTemplate.class)));
        try (LockTemplate own = kept.get()) {
            assertThat(locks(own)).isTrue();
        }
    }

    static class Keeping {
        @Bean(destroyMethod = "")
        LockTemplate kept() {
            return LockTemplate.builder(new MemoryLockStore()).build();
        }
    }

    private static boolean locks(LockTemplate template) {
        try {
            return template.tryRun("a", lease -> {});
        } catch (LockStoreException closed) {
            return false;
        }
    }

    static final class Probe implements SmartLifecycle {

        private final int phase;
        private Runnable onStop = () -> {};
        private boolean running;

        Probe(int phase) {
            this.phase = phase;
        }

        void onStop(Runnable action) {
            onStop = action;
        }

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            running = false;
            onStop.run();
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        @Override
        public int getPhase() {
            return phase;
        }
    }
}
