/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Makes sure that beans are proxied at all. Spring Boot registers an auto-proxy creator only with
 * {@code spring.aop.auto}, and without one an annotated method would silently run without its lock.
 */
final class AutoProxyCreatorRegistrar implements ImportBeanDefinitionRegistrar {

    private final Environment environment;

    AutoProxyCreatorRegistrar(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
        AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        if (environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true)) {
            AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
        }
    }
}
