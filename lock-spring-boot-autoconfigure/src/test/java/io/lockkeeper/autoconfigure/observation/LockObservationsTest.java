/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import static io.lockkeeper.autoconfigure.observation.MeteredLocks.REQUEST;
import static io.lockkeeper.autoconfigure.observation.MeteredLocks.template;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.SwitchableStore.Part;
import io.lockkeeper.interceptor.LogRecorder;
import io.micrometer.common.KeyValues;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.ObservationTextPublisher;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.util.ClassUtils;

/** Spans of acquisitions and holds: their keys, their parents, and on which threads they are current. */
class LockObservationsTest {

    private final MeteredLocks locks = new MeteredLocks();
    private final TestObservationRegistry observed = TestObservationRegistry.create();

    @AfterEach
    void close() {
        locks.other.close();
        assertThat(observed.getCurrentObservation()).isNull();
    }

    private ApplicationContextRunner runner() {
        return locks.runner().withBean(ObservationRegistry.class, () -> observed);
    }

    @Test
    void anAcquisitionAndAHoldAreObserved() {
        runner().run(context -> {
            long token = template(context).execute(REQUEST, LockLease::fencingToken);
            TestObservationRegistryAssert.assertThat(observed)
                    .hasNumberOfObservationsEqualTo(2)
                    .hasAnObservationWithAKeyValue("lock.token", Long.toString(token));
            assertStopped("lockkeeper.acquire", "lock acquire", "acquired");
            assertStopped("lockkeeper.hold", "lock hold", "released");
        });
    }

    private void assertStopped(String name, String span, String outcome) {
        TestObservationRegistryAssert.assertThat(observed)
                .hasObservationWithNameEqualTo(name)
                .that()
                .hasBeenStarted()
                .hasBeenStopped()
                .hasContextualNameEqualTo(span)
                .hasLowCardinalityKeyValue("label", "shop")
                .hasLowCardinalityKeyValue("mode", "exclusive")
                .hasLowCardinalityKeyValue("outcome", outcome)
                .hasHighCardinalityKeyValue("lock.name", "x");
    }

    @Test
    void whatRunsInTheBodyIsAChildOfTheHold() {
        runner().run(context -> {
            Observation outer = Observation.start("request", observed);
            try (Observation.Scope scope = outer.openScope()) {
                template(context).run(REQUEST, lease -> Observation.createNotStarted("work", observed)
                        .observe(() -> {}));
                assertThat(observed.getCurrentObservation()).isSameAs(outer);
            }
            outer.stop();
            assertParent("work", "lockkeeper.hold");
            assertParent("lockkeeper.hold", "request");
            assertParent("lockkeeper.acquire", "request");
        });
    }

    @Test
    void aHoldOfAnAsynchronousCallerHasItsParentAndIsCurrentNowhere() {
        runner().run(context -> {
            Observation outer = Observation.start("request", observed);
            LockLease held = locks.other.acquire("x");
            CompletableFuture<LockLease> acquisition;
            try (Observation.Scope scope = outer.openScope()) {
                acquisition = template(context).acquireAsync(REQUEST);
            }
            CompletableFuture<Observation> current = acquisition.thenApply(lease -> observed.getCurrentObservation());
            held.close();
            assertThat(current.get()).isNull();
            acquisition.join().close();
            outer.stop();
            assertParent("lockkeeper.hold", "request");
            assertStopped("lockkeeper.hold", "lock hold", "released");
        });
    }

    private void assertParent(String name, String parent) {
        TestObservationRegistryAssert.assertThat(observed)
                .hasObservationWithNameEqualTo(name)
                .that()
                .hasBeenStopped()
                .satisfies(context -> assertThat(
                                context.getParentObservation().getContextView().getName())
                        .isEqualTo(parent));
    }

    @Test
    void aLockOfJavaUtilIsObservedButCurrentNowhere() {
        runner().run(context -> {
            LockTemplate template = template(context);
            template.lock("x").lock();
            assertThat(observed.getCurrentObservation()).isNull();
            template.lock("x").unlock();
            TestObservationRegistryAssert.assertThat(observed)
                    .hasObservationWithNameEqualTo("lockkeeper.hold")
                    .that()
                    .hasBeenStopped();
        });
    }

    @Test
    void aLeaseThatAnotherThreadReleasesLeavesNoScopeBehind() {
        runner().run(context -> {
            template(context).run(REQUEST, lease -> {
                CompletableFuture.runAsync(() -> {
                            lease.release();
                            assertThat(observed.getCurrentObservation()).isNull();
                        })
                        .join();
                assertThat(observed.getCurrentObservation()).isNotNull();
            });
            assertStopped("lockkeeper.hold", "lock hold", "released");
        });
    }

    @Test
    void aLossIsAnErrorOfTheHoldWhichEndsWithTheBody() {
        runner().run(context -> {
            template(context).run(REQUEST, lease -> {
                locks.other.inspector().forceRelease("x");
                Awaitility.await().untilAsserted(() -> TestObservationRegistryAssert.assertThat(observed)
                        .hasObservationWithNameEqualTo("lockkeeper.hold")
                        .that()
                        .hasError());
                Observation.createNotStarted("work", observed).observe(() -> {});
            });
            assertStopped("lockkeeper.hold", "lock hold", "lost");
            assertParent("work", "lockkeeper.hold");
        });
    }

    @Test
    void aBodyThatBeginsWhileItsHoldIsLostIsUnderNoScope() throws InterruptedException {
        CountDownLatch losing = new CountDownLatch(1);
        CountDownLatch begun = new CountDownLatch(1);
        observed.observationConfig().observationHandler(new ObservationHandler<Observation.Context>() {
            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }

            @Override
            public void onEvent(Observation.Event event, Observation.Context context) {
                losing.countDown();
                try {
                    begun.await();
                } catch (InterruptedException interrupted) {
                    throw new IllegalStateException(interrupted);
                }
            }
        });
        LockObservations observations = new LockObservations(observed, null, null);
        observations.onAcquired(new LockListener.Acquired(7, REQUEST, 1, Duration.ZERO, 1, LockListener.Way.ANSWER));
        LockLostException loss = new LockLostException("x", 1, Duration.ZERO, "expired");
        Thread losingThread = new Thread(() -> observations.onLost(new LockListener.Lost(7, REQUEST, loss)));
        losingThread.start();
        losing.await();
        AtomicReference<Observation> left = new AtomicReference<>();
        Thread body = new Thread(() -> {
            observations.onBodyBegins(new LockListener.Body(7));
            observations.onBodyEnds(new LockListener.Body(7));
            left.set(observed.getCurrentObservation());
        });
        body.start();
        Awaitility.await().until(() -> body.getState() == Thread.State.BLOCKED);
        begun.countDown();
        losingThread.join();
        body.join();

        assertThat(left.get()).isNull();
        assertStopped("lockkeeper.hold", "lock hold", "lost");
    }

    @Test
    void aLeaseThatIsLostAndNeverReleasedEndsWithTheLoss() {
        runner().run(context -> {
            template(context).acquire(REQUEST);
            locks.other.inspector().forceRelease("x");
            Awaitility.await().untilAsserted(() -> assertStopped("lockkeeper.hold", "lock hold", "lost"));
        });
    }

    @Test
    void onlyAFailingStoreIsAnErrorOfAnAcquisition() {
        runner().run(context -> {
            LockLease held = locks.other.acquire("x");
            assertThat(template(context).tryAcquire(REQUEST)).isEmpty();
            assertStopped("lockkeeper.acquire", "lock acquire", "busy");
            TestObservationRegistryAssert.assertThat(observed)
                    .hasObservationWithNameEqualTo("lockkeeper.acquire")
                    .that()
                    .doesNotHaveError();
            held.close();
            observed.clear();
            locks.store.switchOff(Part.QUESTIONS);
            assertThatThrownBy(() -> template(context).acquire(REQUEST)).isInstanceOf(LockStoreException.class);
            assertStopped("lockkeeper.acquire", "lock acquire", "error");
            TestObservationRegistryAssert.assertThat(observed)
                    .hasObservationWithNameEqualTo("lockkeeper.acquire")
                    .that()
                    .hasError();
        });
    }

    @Test
    void observationsAreTheTimersWhereTheyAreMeteredAndThereAreNoOthers() {
        observed.observationConfig().observationHandler(new DefaultMeterObservationHandler(locks.registry));
        runner().run(context -> {
            assertThat(context).hasSingleBean(LockMetrics.class);
            template(context).run(REQUEST, lease -> {});
            assertThat(locks.acquired("acquired")).isEqualTo(1);
            assertThat(locks.held("released")).isEqualTo(1);
            assertThat(locks.registry.find("lockkeeper.hold").timers()).hasSize(1);
        });
    }

    @Test
    void whereNothingButMetersListensLocksAreTimedWithTheSameTagsAndNotObserved() {
        assertThat(observes(boot -> boot)).isFalse();
        assertThat(observes(boot -> boot.withPropertyValues("management.observations.key-values.region=eu")))
                .isTrue();
        assertThat(observes(boot -> boot.withPropertyValues("management.observations.enable.spring=false")))
                .isTrue();
        assertThat(observes(boot -> boot.withBean(ObservationTextPublisher.class)))
                .isTrue();
        assertThat(observes(boot -> boot.withBean(ObservationFilter.class, () -> any -> any)))
                .isTrue();
        assertThat(observes(boot -> boot.withBean(LockHoldConvention.class, () -> new LockHoldConvention() {})))
                .isTrue();
        assertThat(observes(boot -> boot.withBean(ObservationRegistry.class, ObservationRegistry::create)))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "management.metrics.observations.ignored-meters=long-task-timer",
                "management.observations.long-task-timer.enabled=false"
            })
    void timersOfWhatIsUnderWayAreLeftToSpringBootWhereItsPropertiesNameThem(String property) {
        runner(locks).withPropertyValues(property).run(context -> assertThat(
                        context.getBean(LockObservations.class).isObserving())
                .isTrue());
    }

    /** Returns whether locks are observed in an application with what Spring Boot makes, and what is added to it. */
    private static boolean observes(UnaryOperator<ApplicationContextRunner> addition) {
        MeteredLocks metered = new MeteredLocks();
        boolean[] observes = new boolean[1];
        addition.apply(runner(metered)).run(context -> {
            template(context).run(REQUEST, lease -> assertThat(metered.active("lockkeeper.hold.active"))
                    .isEqualTo(1));
            assertThat(metered.active("lockkeeper.acquire.active")).isZero();
            assertThat(metered.active("lockkeeper.hold.active")).isZero();
            observes[0] = context.getBean(LockObservations.class).isObserving();
            assertThat(metered.acquired("acquired")).isEqualTo(1);
            assertThat(metered.held("released")).isEqualTo(1);
            for (String timer : List.of("lockkeeper.acquire", "lockkeeper.hold")) {
                assertThat(metered.registry.get(timer).tag("error", "none").timers())
                        .hasSize(1);
            }
        });
        metered.other.close();
        return observes[0];
    }

    private static ApplicationContextRunner runner(MeteredLocks metered) {
        Class<?>[] boot = Stream.of(
                        "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
                        "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
                        "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration")
                .filter(name -> ClassUtils.isPresent(name, null))
                .map(name -> ClassUtils.resolveClassName(name, null))
                .toArray(Class[]::new);
        return metered.runner().withConfiguration(AutoConfigurations.of(boot));
    }

    @Test
    void severalRegistriesWithoutAPrimaryOneObserveNothingAndTheLogSaysSo() {
        try (LogRecorder log = new LogRecorder(LockkeeperObservationAutoConfiguration.class)) {
            runner().withBean("further", ObservationRegistry.class, ObservationRegistry::create)
                    .run(context -> {
                        template(context).run(REQUEST, lease -> {});
                        TestObservationRegistryAssert.assertThat(observed).doesNotHaveAnyObservation();
                        assertThat(locks.acquired("acquired")).isEqualTo(1);
                    });
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .startsWith("INFO Locks are not observed")
                    .contains("make one of them @Primary");
        }
    }

    @Test
    void switchedOffObservationsLeaveTheTimers() {
        runner().withPropertyValues("lockkeeper.observations.enabled=false").run(context -> {
            template(context).run(REQUEST, lease -> {});
            TestObservationRegistryAssert.assertThat(observed).doesNotHaveAnyObservation();
            assertThat(locks.acquired("acquired")).isEqualTo(1);
        });
    }

    @Test
    void aConventionOfTheApplicationTakesThePlaceOfOurs() {
        runner().withBean(LockHoldConvention.class, () -> new LockHoldConvention() {
                    @Override
                    public KeyValues getHighCardinalityKeyValues(LockHoldContext context) {
                        return KeyValues.of("name", context.getRequest().names().get(0));
                    }
                })
                .run(context -> {
                    template(context).run(REQUEST, lease -> {});
                    TestObservationRegistryAssert.assertThat(observed)
                            .hasObservationWithNameEqualTo("lockkeeper.hold")
                            .that()
                            .hasHighCardinalityKeyValue("name", "x")
                            .doesNotHaveHighCardinalityKeyValueWithKey("lock.name");
                });
    }
}
