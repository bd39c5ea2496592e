/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import static io.lockkeeper.autoconfigure.observation.MeteredLocks.REQUEST;
import static io.lockkeeper.autoconfigure.observation.MeteredLocks.template;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.autoconfigure.SwitchableStore.Part;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.FilteredClassLoader;

/** Each meter, each outcome. */
class LockMetricsTest {

    private final MeteredLocks locks = new MeteredLocks();

    @AfterEach
    void close() {
        locks.other.close();
    }

    @Test
    void anAcquiredLockIsTimedAndCountedWhileItIsHeld() {
        locks.runner().run(context -> {
            template(context).run(REQUEST, lease -> {
                assertThat(locks.gauge("held")).isEqualTo(1);
                assertThat(locks.gauge("waiting")).isZero();
                template(context).run(REQUEST, reentered -> assertThat(locks.gauge("held"))
                        .isEqualTo(1));
            });
            assertThat(locks.gauge("held")).isZero();
            assertThat(locks.acquired("acquired")).isEqualTo(1);
            assertThat(locks.held("released")).isEqualTo(1);
        });
    }

    @Test
    void whoTriesOnceIsBusy() {
        locks.runner().run(context -> {
            LockLease held = locks.other.acquire("x");
            assertThat(template(context).tryAcquire(REQUEST)).isEmpty();
            assertThat(locks.acquired("busy")).isEqualTo(1);
            assertThat(locks.gauge("waiting")).isZero();
            held.close();
        });
    }

    @Test
    void whoWaitsOrRetriesInVainIsOutOfTime() {
        locks.runner().run(context -> {
            LockLease held = locks.other.acquire("x");
            LockRequest waiting = REQUEST.withWaitTime(Duration.ofMillis(20));
            assertThatThrownBy(() -> template(context).acquire(waiting)).isInstanceOf(LockNotAcquiredException.class);
            LockRequest retrying = REQUEST.withRetries(1, Duration.ofMillis(1));
            assertThat(template(context).tryAcquire(retrying)).isEmpty();
            assertThat(locks.acquired("timeout")).isEqualTo(2);
            assertThat(locks.acquired("busy")).isZero();
            held.close();
        });
    }

    @Test
    void whoIsInterruptedOrCancelsIsInterrupted() {
        locks.runner().run(context -> {
            LockLease held = locks.other.acquire("x");
            CompletableFuture<LockLease> cancelled = template(context).acquireAsync(REQUEST);
            assertThat(locks.gauge("waiting")).isEqualTo(1);
            cancelled.cancel(true);
            Awaitility.await().until(() -> locks.acquired("interrupted") == 1);
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> template(context).acquire(REQUEST)).isInstanceOf(LockInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(locks.acquired("interrupted")).isEqualTo(2);
            assertThat(locks.gauge("waiting")).isZero();
            held.close();
        });
    }

    @Test
    void aStoreThatFailsIsAnError() {
        locks.runner().run(context -> {
            locks.store.switchOff(Part.QUESTIONS);
            assertThatThrownBy(() -> template(context).acquire(REQUEST)).isInstanceOf(LockStoreException.class);
            assertThat(locks.acquired("error")).isEqualTo(1);
            assertThat(locks.gauge("waiting")).isZero();
        });
    }

    @Test
    void aLostLockIsCountedOnceAndIsNotHeldAnyMore() {
        locks.runner().run(context -> {
            LockLease lease = template(context).acquire(REQUEST);
            locks.other.inspector().forceRelease("x");
            // The last that is told of a loss.
            Awaitility.await().until(() -> locks.held("lost") == 1);
            assertThat(locks.gauge("held")).isZero();
            assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
            assertThat(locks.gauge("held")).isZero();
            assertThat(locks.count("lost")).isEqualTo(1);
            assertThat(locks.held("lost")).isEqualTo(1);
            assertThat(locks.held("released")).isZero();
        });
    }

    @Test
    void aReleaseWithoutAnswerIsAnOutcomeToo() {
        locks.runner().run(context -> {
            LockLease lease = template(context).acquire(REQUEST);
            locks.store.switchOff(Part.RELEASES);
            assertThat(lease.release()).isEqualTo(ReleaseResult.UNKNOWN);
            assertThat(locks.held("unknown")).isEqualTo(1);
            assertThat(locks.gauge("held")).isZero();
            locks.store.switchOn(Part.RELEASES);
        });
    }

    @Test
    void renewalsAndTheirFailuresAreCounted() {
        locks.runner().run(context -> {
            LockLease lease = template(context).acquire(REQUEST);
            Awaitility.await().until(() -> locks.count("renewals") > 0);
            assertThat(locks.count("renewal.failures")).isZero();
            locks.store.switchOff(Part.RENEWALS);
            Awaitility.await().until(() -> locks.count("renewal.failures") > 0);
            locks.store.switchOn(Part.RENEWALS);
            lease.close();
        });
    }

    @Test
    void localPassesAreCounted() {
        // No hold passes on near the end of its lease, which a second may bring where renewals come late.
        locks.runner()
                .withPropertyValues("lockkeeper.lease-time=5m", "lockkeeper.handover.max-time=5m")
                .run(context -> {
                    LockLease first = template(context).acquire(REQUEST);
                    CompletableFuture<LockLease> second = template(context).acquireAsync(REQUEST);
                    first.close();
                    second.join().close();
                    assertThat(locks.count("passes")).isEqualTo(1);
                    assertThat(locks.count("grants")).isZero();
                });
    }

    @Test
    void grantsAreCounted() {
        locks.runner().run(context -> {
            LockLease first = locks.other.acquire("x");
            CompletableFuture<LockLease> second = template(context).acquireAsync(REQUEST);
            first.close();
            second.join().close();
            assertThat(locks.count("grants")).isEqualTo(1);
            assertThat(locks.count("passes")).isZero();
            assertThat(locks.count("polls.recovered")).isZero();
        });
    }

    @Test
    void pollsThatFindALostGrantAreCounted() {
        locks.runner().run(context -> {
            LockLease first = locks.other.acquire("x");
            CompletableFuture<LockLease> second = template(context).acquireAsync(REQUEST);
            locks.store.switchOff(Part.GRANTS);
            first.close();
            second.join().close();
            assertThat(locks.count("polls.recovered")).isEqualTo(1);
            assertThat(locks.count("grants")).isZero();
        });
    }

    @Test
    void aWriterWhoGoesOnAsAReaderIsCountedAsOne() {
        locks.runner().run(context -> {
            DistributedReadWriteLock lock = template(context).readWriteLock("x");
            lock.writeLock().lock();
            lock.readLock().lock();
            lock.writeLock().unlock();
            assertThat(heldBy("write")).isZero();
            assertThat(heldBy("read")).isEqualTo(1);
            lock.readLock().unlock();
            assertThat(heldBy("read")).isZero();
        });
    }

    private double heldBy(String mode) {
        return locks.registry
                .get("lockkeeper.held")
                .tags("mode", mode, "label", "none")
                .gauge()
                .value();
    }

    @Test
    void aThousandNamesNeedNoFurtherMeter() {
        locks.runner().run(context -> {
            LockTemplate template = template(context);
            template.run(REQUEST, lease -> {});
            int meters = locks.registry.getMeters().size();
            for (int i = 0; i < 1_000; i++) {
                template.run(LockRequest.of("order:" + i).withLabel("shop"), lease -> {});
            }
            assertThat(locks.registry.getMeters()).hasSize(meters);
            assertThat(locks.acquired("acquired")).isEqualTo(1_001);
        });
    }

    @Test
    void anAnnotatedMethodIsTheLabel() {
        locks.runner().withBean(Shop.class).run(context -> {
            context.getBean(Shop.class).sell("lamp");
            assertThat(locks.registry
                            .get("lockkeeper.acquire")
                            .tag("label", "Shop.sell")
                            .tag("mode", "fair")
                            .timer()
                            .count())
                    .isEqualTo(1);
        });
    }

    @Test
    void severalRegistriesWithoutAPrimaryOneAllHaveTheMeters() {
        SimpleMeterRegistry further = new SimpleMeterRegistry();
        CompositeMeterRegistry both = new CompositeMeterRegistry(Clock.SYSTEM, List.of(further, locks.registry));
        locks.runner()
                .withBean("further", MeterRegistry.class, () -> further)
                .withBean("both", MeterRegistry.class, () -> both)
                .run(context -> {
                    template(context).run(REQUEST, lease -> assertThat(locks.gauge("held"))
                            .isEqualTo(1));
                    assertThat(locks.acquired("acquired")).isEqualTo(1);
                    assertThat(further.get("lockkeeper.acquire").timer().count())
                            .isEqualTo(1);
                });
    }

    @Test
    void aPrimaryRegistryAloneHasTheMetersAndPassesThemOn() {
        SimpleMeterRegistry primary = new SimpleMeterRegistry();
        locks.runner()
                .withBean("primary", MeterRegistry.class, () -> primary, definition -> definition.setPrimary(true))
                .run(context -> {
                    template(context).run(REQUEST, lease -> {});
                    assertThat(primary.get("lockkeeper.acquire").timer().count())
                            .isEqualTo(1);
                    assertThat(locks.registry.getMeters()).isEmpty();
                });
    }

    @Test
    void withoutMicrometerEverythingWorks() {
        locks.runner().withClassLoader(new FilteredClassLoader("io.micrometer")).run(context -> assertThat(context)
                .hasNotFailed()
                .doesNotHaveBean("lockkeeperMetrics")
                .doesNotHaveBean("lockObservations")
                .satisfies(locked -> template(locked).run("x", lease -> {})));
    }

    static class Shop {
        @DistributedLocked(name = "shop:#{#product}", mode = LockMode.FAIR)
        public void sell(String product) {}
    }
}
