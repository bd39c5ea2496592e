/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** Auto-configuration of the health of locks: whether the store answers, and grants and renewals flow. */
@AutoConfiguration(after = LockkeeperAutoConfiguration.class)
@ConditionalOnSingleCandidate(LockInspector.class)
@Conditional(OnHealthEnabled.class)
public final class LockkeeperHealthAutoConfiguration {

    private static final String BEAN = "lockkeeperHealthIndicator";

    /** Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    @ConditionalOnMissingBean(name = BEAN)
    static class HealthConfiguration {

        @Bean
        RenewalWatch renewalWatch() {
            return new RenewalWatch();
        }

        @Bean(BEAN)
        LockHealthIndicator lockkeeperHealthIndicator(LockInspector inspector, RenewalWatch renewals) {
            return new LockHealthIndicator(new LockHealth(inspector, renewals));
        }
    }

    /** Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = OlderHealthIndicator.TYPE)
    @ConditionalOnMissingClass("org.springframework.boot.health.contributor.HealthIndicator")
    @ConditionalOnMissingBean(name = BEAN)
    static class OlderHealthConfiguration {

        @Bean
        RenewalWatch renewalWatch() {
            return new RenewalWatch();
        }

        @Bean(BEAN)
        static OlderHealthIndicator lockkeeperHealthIndicator(
                ObjectProvider<LockInspector> inspector,
                ObjectProvider<RenewalWatch> renewals,
                ConfigurableListableBeanFactory beans) {
            return new OlderHealthIndicator(
                    () -> new LockHealth(inspector.getObject(), renewals.getObject()), beans.getBeanClassLoader());
        }
    }
}
