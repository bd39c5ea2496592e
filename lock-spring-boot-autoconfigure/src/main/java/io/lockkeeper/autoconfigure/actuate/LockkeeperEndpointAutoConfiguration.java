/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.EndpointAccessResolver;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ImportRuntimeHints;

/** Auto-configuration of the endpoint {@code locks}; with the means to release one by force only where that is wanted. */
@AutoConfiguration(after = LockkeeperAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnSingleCandidate(LockInspector.class)
public final class LockkeeperEndpointAutoConfiguration {

    @Bean
    @ConditionalOnAvailableEndpoint
    @ConditionalOnMissingBean(LocksEndpoint.class)
    @Conditional(OnForceRelease.class)
    ForcibleLocksEndpoint forcibleLocksEndpoint(LockInspector inspector) {
        return new ForcibleLocksEndpoint(inspector);
    }

    @Bean
    @ConditionalOnAvailableEndpoint
    @ConditionalOnMissingBean
    LocksEndpoint locksEndpoint(LockInspector inspector) {
        return new LocksEndpoint(inspector);
    }

    /** The page, and the endpoint over HTTP. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication
    @ConditionalOnAvailableEndpoint(endpoint = LocksEndpoint.class, exposure = EndpointExposure.WEB)
    @ImportRuntimeHints(LocksPage.Hints.class)
    static class LocksWebConfiguration {

        @Bean
        @Conditional(OnForceRelease.class)
        ForcibleLocksWebExtension forcibleLocksWebExtension(
                ForcibleLocksEndpoint endpoint, EndpointAccessResolver accessResolver) {
            Access access = accessResolver.accessFor(EndpointId.of("locks"), Access.UNRESTRICTED);
            return new ForcibleLocksWebExtension(endpoint, new LocksPage(access == Access.UNRESTRICTED));
        }

        @Bean
        @ConditionalOnMissingBean
        LocksWebExtension locksWebExtension(LocksEndpoint endpoint) {
            return new LocksWebExtension(endpoint, new LocksPage(false));
        }

        @Bean
        @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
        ReactiveLockPathFilter reactiveLockPathFilter(ObjectProvider<PathMappedEndpoints> endpoints) {
            return new ReactiveLockPathFilter(endpoints);
        }
    }
}
