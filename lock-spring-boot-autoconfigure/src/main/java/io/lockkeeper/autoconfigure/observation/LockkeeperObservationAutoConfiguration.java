/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.jfr.FlightRecorderListener;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.observation.MeterObservationHandler;
import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.ObservationFilter;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationPredicate;
import io.micrometer.observation.ObservationRegistry;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigureOrder;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.ClassUtils;

/**
 * Auto-configuration of what is told of locks: meters, the observations that {@link LockObservationDocumentation}
 * documents, and events for the JDK Flight Recorder, where the Java runtime has it.
 */
// Last: after the auto-configurations of registries, whose names differ in Spring Boot 3.5 and 4.
@AutoConfiguration
@AutoConfigureOrder(Ordered.LOWEST_PRECEDENCE)
public final class LockkeeperObservationAutoConfiguration {

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(ObservationRegistry.class)
    @ConditionalOnBean(ObservationRegistry.class)
    @Conditional(OnObservationsEnabled.class)
    static class ObservationConfiguration {

        private static final Logger log = LoggerFactory.getLogger(LockkeeperObservationAutoConfiguration.class);

        @Bean
        LockObservations lockObservations(
                ObjectProvider<ObservationRegistry> registries,
                ObjectProvider<LockAcquireConvention> acquireConvention,
                ObjectProvider<LockHoldConvention> holdConvention,
                ConfigurableListableBeanFactory beans,
                Environment environment) {
            ObservationRegistry registry = registries.getIfUnique();
            if (registry == null) {
                log.info("Locks are not observed, because there are several ObservationRegistry beans: make one of them"
                        + " @Primary, or set lockkeeper.observations.enabled=false if this is meant");
            }
            return new LockObservations(
                    registry == null || ObservationUse.isMetersAlone(registry, beans, environment)
                            ? ObservationRegistry.NOOP
                            : registry,
                    acquireConvention.getIfAvailable(),
                    holdConvention.getIfAvailable());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    @ConditionalOnBean(MeterRegistry.class)
    static class MetricsConfiguration {

        private static final Map<String, String> TEXTS = Map.of(
                "lockkeeper.acquire", "Time from a call for a lock to its end, by outcome",
                "lockkeeper.acquire.active", "Calls for a lock that have no answer yet",
                "lockkeeper.hold", "Time from a grant to the release or loss, by outcome",
                "lockkeeper.hold.active", "Locks that are held now",
                "lockkeeper.hold.lost", "Holds that were observed and lost");

        /** Describes the timers of locks, which observations make without a description. */
        @Bean
        static MeterFilter lockMeterDescriptions() {
            return new MeterFilter() {
                @Override
                public Meter.Id map(Meter.Id id) {
                    String text = id.getDescription() == null ? TEXTS.get(id.getName()) : null;
                    Tags tags = Tags.of(id.getTagsAsIterable());
                    return text == null ? id : new Meter.Id(id.getName(), tags, id.getBaseUnit(), text, id.getType());
                }
            };
        }

        @Bean
        LockMetrics lockkeeperMetrics(
                ObjectProvider<MeterRegistry> registries, ObjectProvider<LockObservations> observations) {
            // Where none of several is primary, Spring Boot makes one over all of them that is.
            MeterRegistry registry = registries.getIfUnique(() ->
                    new CompositeMeterRegistry(Clock.SYSTEM, registries.stream().toList()));
            return new LockMetrics(registry, observations.stream().noneMatch(LockObservations::isObserving));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "jdk.jfr.Event")
    static class FlightRecorderConfiguration {

        @Bean
        @ConditionalOnMissingBean
        FlightRecorderListener lockkeeperFlightRecorder() {
            return new FlightRecorderListener();
        }
    }

    /** {@code lockkeeper.observations.enabled}, in any spelling of a boolean. */
    static final class OnObservationsEnabled implements Condition {

        @Override
        public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
            return Binder.get(context.getEnvironment())
                    .bind("lockkeeper.observations.enabled", Boolean.class)
                    .orElse(true);
        }
    }

    /** Timers of our own cost less than observations, wherever nothing is there that could make more of those. */
    private static final class ObservationUse {

        private static final boolean METERS = isPresent("io.micrometer.core.instrument.MeterRegistry");
        private static final String BOOT_4 = "org.springframework.boot.micrometer.observation.autoconfigure.";
        private static final String BOOT_3 = "org.springframework.boot.actuate.autoconfigure.observation.";

        static boolean isMetersAlone(
                ObservationRegistry registry, ConfigurableListableBeanFactory beans, Environment environment) {
            Binder properties = Binder.get(environment);
            return METERS
                    && isOfBoot(registry, beans)
                    && Stream.of(
                                    "observations.key-values",
                                    "observations.enable",
                                    "observations.long-task-timer",
                                    "metrics.observations")
                            .noneMatch(name -> properties
                                    .bind("management." + name, Bindable.mapOf(String.class, String.class))
                                    .isBound())
                    && Stream.concat(
                                    Stream.of(
                                            ObservationHandler.class,
                                            ObservationFilter.class,
                                            ObservationPredicate.class,
                                            GlobalObservationConvention.class,
                                            LockAcquireConvention.class,
                                            LockHoldConvention.class),
                                    Stream.of(BOOT_4, BOOT_3)
                                            .map(origin -> origin + "ObservationRegistryCustomizer")
                                            .filter(ObservationUse::isPresent)
                                            .map(name -> ClassUtils.resolveClassName(name, null)))
                            .flatMap(type -> Arrays.stream(beans.getBeanNamesForType(type, true, false)))
                            .allMatch(name -> timesOrDoesNothing(beans.getType(name, false)));
        }

        /** Another registry may have handlers that are no beans. */
        private static boolean isOfBoot(ObservationRegistry registry, ConfigurableListableBeanFactory beans) {
            return Arrays.stream(beans.getBeanNamesForType(registry.getClass(), true, false))
                    .filter(beans::containsBeanDefinition)
                    .map(name -> beans.getMergedBeanDefinition(name).getFactoryBeanName())
                    .filter(Objects::nonNull)
                    .map(maker -> String.valueOf(beans.getType(maker)))
                    .anyMatch(maker -> maker.contains(BOOT_4) || maker.contains(BOOT_3));
        }

        /** Spring Boot always has a filter for its properties, which do not name any key here. */
        private static boolean timesOrDoesNothing(@Nullable Class<?> type) {
            return type != null
                    && (MeterObservationHandler.class.isAssignableFrom(type)
                            || type.getSimpleName().equals("PropertiesObservationFilterPredicate"));
        }

        private static boolean isPresent(String type) {
            return ClassUtils.isPresent(type, ObservationUse.class.getClassLoader());
        }
    }
}
