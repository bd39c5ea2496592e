/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.jfr.FlightRecorderListener;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of events for the JDK Flight Recorder, where the Java runtime has it. */
@AutoConfiguration
@ConditionalOnClass(name = "jdk.jfr.Event")
public final class LockkeeperFlightRecorderAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    FlightRecorderListener flightRecorderListener() {
        return new FlightRecorderListener();
    }
}
