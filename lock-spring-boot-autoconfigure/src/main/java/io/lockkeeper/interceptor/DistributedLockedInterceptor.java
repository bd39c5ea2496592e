/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;

/** Runs calls of annotated methods as their specs say. */
record DistributedLockedInterceptor(MethodLockSpecs specs) implements MethodInterceptor {

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        Object target = call.getThis();
        Class<?> targetClass = target == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(target);
        MethodLockSpec spec = specs.of(call.getMethod(), targetClass, !(call instanceof ProxyMethodInvocation));
        return spec.execution().run(spec, call);
    }
}
