/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static io.lockkeeper.interceptor.LockedApplication.whileHeldElsewhere;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

/** Each kind of lock through the annotation. */
class KindsOfLockTest {

    private final ApplicationContextRunner runner = runner().withBean(Catalogue.class);

    @Test
    void readersShareAndWritersDoNot() {
        runner.run(context -> {
            Catalogue catalogue = context.getBean(Catalogue.class);
            LockTemplate template = context.getBean(LockTemplate.class);
            LockRequest read = LockRequest.of("catalogue").withMode(LockMode.READ);
            try (LockLease reader = elsewhere(context).acquire(read)) {
                assertThat(catalogue.look()).isEqualTo(LockMode.READ);
                assertThatThrownBy(catalogue::change).isInstanceOf(LockNotAcquiredException.class);
                assertThat(reader.isHeld()).isTrue();
            }
            assertThat(catalogue.change()).isEqualTo(LockMode.WRITE);
            template.run(
                    read, reading -> assertThatThrownBy(catalogue::change).isInstanceOf(LockUpgradeException.class));
            template.run(read.withMode(LockMode.WRITE), writing -> assertThat(catalogue.look())
                    .isEqualTo(LockMode.READ));
        });
    }

    private static LockTemplate elsewhere(ApplicationContext context) {
        return LockTemplate.builder(context.getBean(MemoryLockStore.class).peer())
                .build();
    }

    @Test
    void severalNamesAreHeldTogetherOrNotAtAll() {
        runner.run(context -> {
            Catalogue catalogue = context.getBean(Catalogue.class);
            assertThat(catalogue.move(List.of("b", "a"))).containsExactly("item:b", "item:a", "audit");
            whileHeldElsewhere(context, "item:a", () -> {
                assertThatThrownBy(() -> catalogue.move(List.of("b", "a")))
                        .isInstanceOf(LockNotAcquiredException.class);
                assertThat(context.getBean(LockTemplate.class).tryAcquire("item:b"))
                        .hasValueSatisfying(LockLease::close);
            });
        });
    }

    @Test
    void aScheduledMethodKeepsItsLockForItsMinimumTime() {
        runner.run(context -> {
            Catalogue catalogue = context.getBean(Catalogue.class);
            LockInspector inspector = context.getBean(LockInspector.class);
            assertThat(catalogue.nightly()).hasValue("done");
            assertThat(catalogue.nightly()).isEmpty();
            assertThat(inspector.status("nightly")).hasValueSatisfying(status -> assertThat(status.remaining())
                    .isBetween(Duration.ofMinutes(59), Duration.ofHours(1)));
            assertThat(inspector.forceRelease("nightly")).isTrue();
            assertThat(catalogue.nightly()).isPresent();
        });
    }

    @Test
    void aFixedLeaseIsThatOfTheAnnotation() {
        runner.run(context -> assertThat(context.getBean(Catalogue.class).brief())
                .isBetween(Duration.ofMillis(1), Duration.ofSeconds(20)));
    }

    @Test
    void theInspectorIsABeanThatSeesWhoHoldsWhat() {
        runner.withPropertyValues("spring.application.name=shop").run(context -> {
            LockInspector inspector = context.getBean(LockInspector.class);
            context.getBean(LockTemplate.class).run("stock", lease -> assertThat(inspector.status("stock"))
                    .hasValueSatisfying(status -> assertThat(status.holders())
                            .extracting(LockInstance::application)
                            .containsExactly("shop")));
            assertThat(inspector.find("*", 10)).isEmpty();
        });
    }

    @Test
    void anInspectorIsThereWhenLockingIsSwitchedOff() {
        runner.withPropertyValues("lockkeeper.enabled=false").run(context -> {
            assertThat(context.getBean(LockInspector.class).find("*", 10)).isEmpty();
            context.getBean(LockOperations.class)
                    .run("stock", lease -> assertThat(lease.isHeld()).isTrue());
        });
    }

    static class Catalogue {

        @DistributedLocked(name = "catalogue", mode = LockMode.READ)
        public LockMode look() {
            return LockContext.require().mode();
        }

        @DistributedLocked(name = "catalogue", mode = LockMode.WRITE)
        public LockMode change() {
            return LockContext.require().mode();
        }

        @DistributedLocked({"item:#{#ids}", "audit"})
        public List<String> move(List<String> ids) {
            return LockContext.require().names();
        }

        @DistributedLocked(name = "nightly", skipWhenLocked = true, minHoldTime = "1h")
        public Optional<String> nightly() {
            return Optional.of("done");
        }

        @DistributedLocked(name = "brief", leaseTime = "20s")
        public Duration brief() {
            return LockContext.require().remaining();
        }
    }
}
