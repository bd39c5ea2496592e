/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;

/**
 * Auto-configuration of the observations that {@link LockObservationDocumentation} documents: spans, and with them the
 * timers of acquisitions and holds.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration"
        })
@ConditionalOnClass(ObservationRegistry.class)
@ConditionalOnBean(ObservationRegistry.class)
@Conditional(OnObservationsEnabled.class)
public final class LockkeeperObservationAutoConfiguration {

    @Bean
    LockObservations lockObservations(
            ObservationRegistry registry,
            ObjectProvider<LockAcquireConvention> acquireConvention,
            ObjectProvider<LockHoldConvention> holdConvention) {
        return new LockObservations(registry, acquireConvention.getIfAvailable(), holdConvention.getIfAvailable());
    }
}
