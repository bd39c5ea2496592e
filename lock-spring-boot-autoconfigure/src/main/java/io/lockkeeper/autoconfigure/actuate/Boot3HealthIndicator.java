/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * The health of locks, for Spring Boot 3: its types have other names there, and both cannot be on one class path, so
 * that they are reached by name.
 */
final class Boot3HealthIndicator implements FactoryBean<Object> {

    static final String TYPE = "org.springframework.boot.actuate.health.HealthIndicator";
    private static final String HEALTH = "org.springframework.boot.actuate.health.Health";

    private final Supplier<LockHealth> health;
    private final Class<?> type;

    /**
     * Creates it without what it looks at: Spring makes factories early, to ask them for their type.
     *
     * @param health what it looks at, asked for at each look
     * @param loader knows the types of Spring Boot
     */
    Boot3HealthIndicator(Supplier<LockHealth> health, @Nullable ClassLoader loader) {
        this.health = health;
        this.type = ClassUtils.resolveClassName(TYPE, loader);
    }

    @Override
    public Class<?> getObjectType() {
        return type;
    }

    @Override
    public Object getObject() {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this::invoke);
    }

    private @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        if (method.isDefault()) {
            return InvocationHandler.invokeDefault(proxy, method, arguments);
        }
        if (method.getDeclaringClass() != Object.class) {
            return look();
        }
        return switch (method.getName()) {
            case "equals" -> arguments != null && proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            default -> getClass().getSimpleName();
        };
    }

    private @Nullable Object look() throws ReflectiveOperationException {
        LockHealth.Report report = health.get().look();
        Object builder = call(
                ClassUtils.resolveClassName(HEALTH, type.getClassLoader()),
                null,
                "status",
                String.class,
                report.status());
        Object detailed = call(builder.getClass(), builder, "withDetails", Map.class, report.details());
        return detailed.getClass().getMethod("build").invoke(detailed);
    }

    private static Object call(
            Class<?> type, @Nullable Object target, String method, Class<?> parameter, Object argument)
            throws InvocationTargetException, IllegalAccessException {
        Method found = Objects.requireNonNull(ReflectionUtils.findMethod(type, method, parameter), method);
        return Objects.requireNonNull(found.invoke(target, argument), method);
    }
}
