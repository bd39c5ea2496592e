/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.LockListener;
import io.lockkeeper.store.LockStore;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInterceptor;
import org.springframework.aop.framework.AopConfigException;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.util.ClassUtils;

/** Puts {@link LockFaults} between the template of the application under test and its store. */
@AutoConfiguration(beforeName = "io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration")
public final class LockFaultsAutoConfiguration {

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockFaults lockFaults(ObjectProvider<LockStore> stores) {
        // Lazy ones are made, and watched, when a fault needs them.
        return new LockFaults(() -> stores.forEach(store -> {}));
    }

    @Bean
    LockListener lockFaultsListener(LockFaults faults) {
        return faults.listener();
    }

    /** While the store can still be asked: it may be that of other applications, too. */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ApplicationListener<ContextClosedEvent> lockFaultsEnd(LockFaults faults, ApplicationContext application) {
        return closed -> {
            if (closed.getApplicationContext() == application) {
                faults.clear();
            }
        };
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static BeanPostProcessor lockFaultsStorePostProcessor(
            ConfigurableListableBeanFactory beans, ObjectProvider<LockFaults> faults) {
        return new StorePostProcessor(beans, faults);
    }

    /** Watches one store: the only one or the primary one, else the first that is made. The others work as ever. */
    private static final class StorePostProcessor implements BeanPostProcessor {

        private final ConfigurableListableBeanFactory beans;
        private final ObjectProvider<LockFaults> faults;
        private final AtomicBoolean watching = new AtomicBoolean();

        StorePostProcessor(ConfigurableListableBeanFactory beans, ObjectProvider<LockFaults> faults) {
            this.beans = beans;
            this.faults = faults;
        }

        @Override
        public Object postProcessAfterInitialization(Object bean, String beanName) {
            return bean instanceof LockStore store && isPreferred(beanName) && watching.compareAndSet(false, true)
                    ? typed(store, faults.getObject().watch(store))
                    : bean;
        }

        private boolean isPreferred(String name) {
            List<String> primary = Arrays.stream(beans.getBeanNamesForType(LockStore.class, true, false))
                    .filter(beans::containsBeanDefinition)
                    .filter(each -> beans.getMergedBeanDefinition(each).isPrimary())
                    .toList();
            return primary.isEmpty() || primary.contains(name);
        }

        /** Returns the watched store in the class of the real one, or in its interfaces, by which it is injected. */
        private static LockStore typed(LockStore real, LockStore watched) {
            ProxyFactory proxy = new ProxyFactory(real);
            proxy.addAdvice((MethodInterceptor) call -> {
                Method method = ClassUtils.getInterfaceMethodIfPossible(call.getMethod(), real.getClass());
                return method.getDeclaringClass().isAssignableFrom(LockStore.class)
                        ? AopUtils.invokeJoinpointUsingReflection(watched, method, call.getArguments())
                        : call.proceed();
            });
            ClassLoader loader = real.getClass().getClassLoader();
            proxy.setProxyTargetClass(true);
            try {
                return (LockStore) proxy.getProxy(loader);
            } catch (AopConfigException notExtensible) {
                proxy.setProxyTargetClass(false);
                return (LockStore) proxy.getProxy(loader);
            }
        }
    }
}
