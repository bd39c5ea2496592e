/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.EndpointAccessResolver;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.annotation.EndpointConverter;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Auto-configuration of the endpoint {@code locks}; it releases a lock by force only where that is wanted. */
@AutoConfiguration(after = LockkeeperAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnBean(LockInspector.class)
public final class LockkeeperEndpointAutoConfiguration {

    private final boolean forceRelease;

    /** Binds here what the beans need, so that what is no boolean is refused also where no endpoint is exposed. */
    LockkeeperEndpointAutoConfiguration(Environment environment) {
        forceRelease = Binder.get(environment)
                .bind("lockkeeper.actuator.force-release.enabled", Boolean.class)
                .orElse(false);
    }

    @Bean
    @ConditionalOnAvailableEndpoint
    @ConditionalOnMissingBean
    LocksEndpoint locksEndpoint(ListableBeanFactory beans) {
        Map<String, LockInspector> inspectors = inspectors(beans);
        LockInspector unique = beans.getBeanProvider(LockInspector.class).getIfUnique();
        String primary = inspectors.keySet().stream()
                .filter(template -> inspectors.get(template) == unique)
                .findFirst()
                .orElse(null);
        return new LocksEndpoint(inspectors, primary, forceRelease);
    }

    @Bean
    @ConditionalOnAvailableEndpoint(endpoint = LocksEndpoint.class, exposure = EndpointExposure.JMX)
    LocksJmxExtension locksJmxExtension(LocksEndpoint endpoint) {
        return new LocksJmxExtension(endpoint);
    }

    /** Returns the inspectors of all templates by name; one that the application has made takes the place of all. */
    static Map<String, LockInspector> inspectors(ListableBeanFactory beans) {
        Map<String, LockInspector> each = new TreeMap<>();
        // Without those that are made for each use: every look would make one.
        BeanFactoryUtils.beansOfTypeIncludingAncestors(beans, LockTemplate.class, false, true)
                .forEach((name, template) -> {
                    LockInspector inspector = template.inspector();
                    // That of a mock is null
                    if (Objects.nonNull(inspector)) {
                        each.put(name, inspector);
                    }
                });
        LockInspector unique = beans.getBeanProvider(LockInspector.class).getIfUnique();
        return unique == null || each.containsValue(unique)
                ? each
                : Map.of(each.size() == 1 ? each.keySet().iterator().next() : "lockTemplate", unique);
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication
    @ConditionalOnAvailableEndpoint(endpoint = LocksEndpoint.class, exposure = EndpointExposure.WEB)
    static class LocksWebConfiguration {

        @Bean
        @ConditionalOnMissingBean
        LocksWebExtension locksWebExtension(LocksEndpoint endpoint, EndpointAccessResolver accessResolver) {
            Access access = accessResolver.accessFor(EndpointId.of("locks"), Access.UNRESTRICTED);
            return new LocksWebExtension(endpoint, access == Access.UNRESTRICTED);
        }

        @Bean
        @EndpointConverter
        static LocksWebExtension.Text.Reader lockNameReader() {
            return new LocksWebExtension.Text.Reader();
        }

        @Bean
        @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
        LockPath.ReactiveFilter reactiveLockPathFilter(ObjectProvider<PathMappedEndpoints> endpoints) {
            return new LockPath.ReactiveFilter(endpoints);
        }
    }
}
