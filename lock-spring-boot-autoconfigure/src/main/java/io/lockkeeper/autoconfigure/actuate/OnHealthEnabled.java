/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * {@code management.health.lockkeeper.enabled}, or what {@code management.health.defaults.enabled} says. Spring Boot has a
 * condition for it, but under another name in each line.
 */
final class OnHealthEnabled implements Condition {

    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
        Environment environment = context.getEnvironment();
        boolean otherwise = environment.getProperty("management.health.defaults.enabled", Boolean.class, true);
        return environment.getProperty("management.health.lockkeeper.enabled", Boolean.class, otherwise);
    }
}
