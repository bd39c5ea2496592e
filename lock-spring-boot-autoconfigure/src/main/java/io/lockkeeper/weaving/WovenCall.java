/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Method;
import org.aopalliance.intercept.MethodInvocation;
import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.reflect.MethodSignature;
import org.jspecify.annotations.Nullable;

/** A call of a woven method, as the interceptor of proxies sees calls. */
final class WovenCall implements MethodInvocation {

    private final ProceedingJoinPoint call;

    WovenCall(ProceedingJoinPoint call) {
        this.call = call;
    }

    @Override
    public Method getMethod() {
        return ((MethodSignature) call.getSignature()).getMethod();
    }

    @Override
    public Object[] getArguments() {
        return call.getArgs();
    }

    @Override
    public @Nullable Object proceed() throws Throwable {
        return call.proceed();
    }

    @Override
    public @Nullable Object getThis() {
        return call.getTarget();
    }

    @Override
    public AccessibleObject getStaticPart() {
        return getMethod();
    }
}
