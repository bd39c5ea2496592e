/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.autoconfigure.SwitchableStore;
import io.lockkeeper.memory.MemoryLockStore;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

/** An application with a meter registry, its store, another instance beside it, and its meters. */
final class MeteredLocks {

    static final LockRequest REQUEST = LockRequest.of("x").withLabel("shop");

    final MemoryLockStore memory = new MemoryLockStore();
    final SwitchableStore store = new SwitchableStore(memory.peer());
    final LockTemplate other = LockTemplate.builder(memory).build();
    final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    ApplicationContextRunner runner() {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        LockkeeperAutoConfiguration.class, LockkeeperObservationAutoConfiguration.class))
                .withPropertyValues(
                        "lockkeeper.lease-time=3s", "lockkeeper.wait-time=10s", "lockkeeper.shutdown.wait=0")
                .withBean(SwitchableStore.class, () -> store)
                .withBean(MeterRegistry.class, () -> registry);
    }

    static LockTemplate template(ApplicationContext context) {
        return context.getBean(LockTemplate.class);
    }

    long acquired(String outcome) {
        return timed("lockkeeper.acquire", outcome);
    }

    long held(String outcome) {
        return timed("lockkeeper.hold", outcome);
    }

    private long timed(String name, String outcome) {
        Timer timer = registry.find(name)
                .tags("label", "shop", "mode", "exclusive", "outcome", outcome)
                .timer();
        return timer == null ? 0 : timer.count();
    }

    /** Returns how many of what a timer counts are under way now. */
    int active(String timer) {
        return registry.get(timer)
                .tags("label", "shop", "mode", "exclusive")
                .longTaskTimer()
                .activeTasks();
    }

    double gauge(String name) {
        return gauge(name, "exclusive");
    }

    double gauge(String name, String mode) {
        Gauge gauge = registry.find("lockkeeper." + name)
                .tags("label", "shop", "mode", mode)
                .gauge();
        return gauge == null ? 0 : gauge.value();
    }

    double count(String name) {
        Counter counter = registry.find("lockkeeper." + name)
                .tags("label", "shop", "mode", "exclusive")
                .counter();
        return counter == null ? 0 : counter.count();
    }
}
