package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.autoconfigure.SwitchableStore;
import io.lockkeeper.autoconfigure.SwitchableStore.Part;
import io.lockkeeper.memory.MemoryLockStore;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** What makes locks healthy, and what does not. */
class LockHealthTest {

    private final SwitchableStore store = new SwitchableStore(new MemoryLockStore());
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LockkeeperAutoConfiguration.class,
                    LockkeeperHealthAutoConfiguration.class,
                    LockkeeperEndpointAutoConfiguration.class))
            .withPropertyValues("lockkeeper.lease-time=1s", "lockkeeper.shutdown.wait=0")
            .withBean(SwitchableStore.class, () -> store);

    private static Health health(AssertableApplicationContext context) {
        return context.getBean("lockkeeperHealthIndicator", HealthIndicator.class)
                .health();
    }

    @Test
    void locksThatWorkAreUpAndNothingIsWritten() {
        runner.run(context -> {
            Map<String, Object> details = health(context).getDetails();
            assertThat(health(context).getStatus()).isEqualTo(Status.UP);
            assertThat(details).containsEntry("lastRenewal", "never").containsEntry("failingRenewals", 0);
            assertThat(details.get("grantsSince").toString()).endsWith("Z");
            assertThat(store.find("*", 10).join()).isEmpty();
            try (LockLease lease = context.getBean(LockTemplate.class).acquire("x")) {
                Awaitility.await().until(() -> health(context)
                        .getDetails()
                        .get("lastRenewal")
                        .toString()
                        .endsWith("Z"));
                assertThat(health(context).getDetails()).containsEntry("held", 1);
            }
        });
    }

    @Test
    void aStoreThatDoesNotAnswerIsDown() {
        runner.run(context -> {
            store.switchOff(Part.LOOKS);
            assertThat(health(context).getStatus()).isEqualTo(Status.DOWN);
            assertThat(health(context).getDetails().get("store").toString()).contains("switched off");
        });
    }

    @Test
    void renewalsThatFailAreDownUntilTheyWorkAgain() {
        runner.run(context -> {
            store.switchOff(Part.RENEWALS);
            LockLease lease = context.getBean(LockTemplate.class).acquire("x");
            Awaitility.await().until(() -> health(context).getStatus().equals(Status.DOWN));
            assertThat(health(context).getDetails()).containsEntry("failingRenewals", 1);
            lease.close();
            assertThat(health(context).getStatus()).isEqualTo(Status.UP);
        });
    }

    @Test
    void grantsThatDoNotArriveAreOutOfService() {
        runner.run(context -> {
            store.switchOff(Part.GRANTS);
            assertThat(health(context).getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
            assertThat(health(context).getDetails()).containsEntry("grantsSince", "never");
        });
    }

    @Test
    void itCanBeSwitchedOff() {
        ApplicationContextRunner unlocked = runner.withPropertyValues("lockkeeper.enabled=false");
        unlocked.withPropertyValues("management.health.lockkeeper.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("lockkeeperHealthIndicator"));
        unlocked.withPropertyValues("management.health.defaults.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("lockkeeperHealthIndicator"));
        unlocked.withPropertyValues(
                        "management.health.defaults.enabled=false", "management.health.lockkeeper.enabled=true")
                .run(context -> assertThat(context).hasBean("lockkeeperHealthIndicator"));
    }

    @Test
    void withoutTheActuatorEverythingWorks() {
        runner.withClassLoader(
                        new FilteredClassLoader("org.springframework.boot.actuate", "org.springframework.boot.health"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean("lockkeeperHealthIndicator")
                        .doesNotHaveBean("renewalWatch")
                        .doesNotHaveBean("locksEndpoint"));
    }

    @Test
    void withoutLockingItIsUp() {
        runner.withPropertyValues("lockkeeper.enabled=false")
                .run(context -> assertThat(health(context).getStatus()).isEqualTo(Status.UP));
    }
}
