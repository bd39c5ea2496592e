/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;

/** Finds methods that the container calls on the bean itself, where no proxy is yet, or none any more. */
final class LifecycleCheck {

    private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

    /** By name, because the annotations may not be there. */
    private static final Set<String> CALLBACKS =
            Set.of("jakarta.annotation.PostConstruct", "jakarta.annotation.PreDestroy");

    private LifecycleCheck() {}

    /** Warns where a method runs without its lock at times; others may call it through the proxy. */
    static void check(AnnotatedMethod annotated) {
        if (isCallback(annotated.method(), annotated.targetClass())) {
            log.warn(
                    "{} runs without its lock when the container calls it, because it calls the bean itself and not the"
                            + " proxy: let it call a method of another bean that has the annotation, or use LockTemplate",
                    annotated);
        }
    }

    private static boolean isCallback(Method method, Class<?> type) {
        return Arrays.stream(method.getDeclaredAnnotations())
                        .anyMatch(
                                each -> CALLBACKS.contains(each.annotationType().getName()))
                || isOf(InitializingBean.class, "afterPropertiesSet", method, type)
                || isOf(DisposableBean.class, "destroy", method, type);
    }

    private static boolean isOf(Class<?> callback, String name, Method method, Class<?> type) {
        return method.getName().equals(name) && method.getParameterCount() == 0 && callback.isAssignableFrom(type);
    }
}
