/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.annotation.AnnotationUtils;

/** Matches annotated methods of beans. */
final class DistributedLockedPointcut extends StaticMethodMatcherPointcut {

    private final ProxyKind proxies;

    DistributedLockedPointcut(ProxyKind proxies) {
        this.proxies = proxies;
        setClassFilter(type -> AnnotationUtils.isCandidateClass(type, DistributedLocked.class));
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
        // A class that cannot be proxied would stop the start here; the validator says so together with all the rest.
        return AnnotatedMethod.find(method, targetClass) != null && proxies.isPossible(targetClass);
    }
}
