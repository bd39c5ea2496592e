/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInspector;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import java.lang.reflect.InvocationHandler;
import org.aopalliance.intercept.MethodInterceptor;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.expression.spel.support.StandardTypeLocator;
import org.springframework.util.ClassUtils;

/** Auto-configuration of the health of locks: whether the store answers, and grants and renewals flow. */
@AutoConfiguration(after = LockkeeperAutoConfiguration.class)
@Conditional(LockkeeperHealthAutoConfiguration.OnHealthEnabled.class)
@ConditionalOnBean(LockInspector.class)
@ConditionalOnMissingBean(name = LockkeeperHealthAutoConfiguration.BEAN)
public final class LockkeeperHealthAutoConfiguration {

    static final String BEAN = "lockkeeperHealthIndicator";
    private static final String TYPE = "org.springframework.boot.health.contributor.HealthIndicator";

    @Bean
    @ConditionalOnBean(name = BEAN)
    LockHealth lockkeeperHealth(ListableBeanFactory beans) {
        return new LockHealth(beans);
    }

    /** Spring Boot has a condition for these properties, but under another name in each line, as health has. */
    static final class OnHealthEnabled implements Condition {

        @Override
        public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
            if (!ClassUtils.isPresent(TYPE, context.getClassLoader())
                    && !ClassUtils.isPresent(Boot3HealthConfiguration.TYPE, context.getClassLoader())) {
                return false;
            }
            Environment environment = context.getEnvironment();
            boolean otherwise = environment.getProperty("management.health.defaults.enabled", Boolean.class, true);
            return environment.getProperty("management.health.lockkeeper.enabled", Boolean.class, otherwise);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    static class HealthConfiguration {

        @Bean(BEAN)
        AbstractHealthIndicator lockkeeperHealthIndicator(LockHealth health) {
            return new AbstractHealthIndicator("The health of locks could not be found out") {
                @Override
                protected void doHealthCheck(Health.Builder builder) {
                    LockHealth.Report report = health.look();
                    builder.status(report.status()).withDetails(report.details());
                }
            };
        }
    }

    /** Spring Boot 3: its types have other names, and cannot be on the same class path, so they are reached by name. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = Boot3HealthConfiguration.TYPE)
    @ConditionalOnMissingClass(TYPE)
    static class Boot3HealthConfiguration {

        static final String TYPE = "org.springframework.boot.actuate.health.HealthIndicator";
        private static final Expression HEALTH = new SpelExpressionParser()
                .parseExpression(
                        "T(org.springframework.boot.actuate.health.Health).status(status).withDetails(details).build()");

        @Bean(BEAN)
        static ProxyFactoryBean lockkeeperHealthIndicator(
                ObjectProvider<LockHealth> health, ConfigurableListableBeanFactory beans) {
            ClassLoader loader = beans.getBeanClassLoader();
            StandardEvaluationContext context = new StandardEvaluationContext();
            context.setTypeLocator(new StandardTypeLocator(loader));
            ProxyFactoryBean indicator = new ProxyFactoryBean();
            indicator.setInterfaces(ClassUtils.resolveClassName(TYPE, loader));
            indicator.addAdvice((MethodInterceptor) call -> {
                if (call.getMethod().isDefault() && call instanceof ProxyMethodInvocation proxied) {
                    return InvocationHandler.invokeDefault(proxied.getProxy(), call.getMethod(), call.getArguments());
                }
                return call.getMethod().getDeclaringClass() == Object.class
                        ? BEAN
                        : HEALTH.getValue(context, health.getObject().look());
            });
            return indicator;
        }
    }
}
