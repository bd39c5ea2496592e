/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of the gauges and counters of locks, and of timers where acquisitions are not observed. */
@AutoConfiguration(
        after = LockkeeperObservationAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.export.simple.SimpleMetricsExportAutoConfiguration"
        })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean(MeterRegistry.class)
public final class LockkeeperMetricsAutoConfiguration {

    @Bean
    static LockMeterDescriptions lockMeterDescriptions() {
        return new LockMeterDescriptions();
    }

    @Bean
    LockMetrics lockMetrics(MeterRegistry registry) {
        return new LockMetrics(registry);
    }

    @Bean
    @ConditionalOnMissingBean(LockObservations.class)
    LockTimers lockTimers(MeterRegistry registry) {
        return new LockTimers(registry);
    }
}
