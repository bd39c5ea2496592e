/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Method;
import org.aopalliance.intercept.MethodInvocation;
import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.annotation.Around;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.DeclarePrecedence;
import org.aspectj.lang.reflect.MethodSignature;
import org.jspecify.annotations.Nullable;

/**
 * Puts methods with {@link io.lockkeeper.annotation.DistributedLocked} under their locks wherever they are called from:
 * also private and final ones, and those that a bean calls on itself. Woven in by AspectJ, which finds it in
 * {@code META-INF/aop.xml}; without {@code lockkeeper.mode=aspectj} it does nothing.
 *
 * <p>Woven code gets the aspect from {@link #aspectOf()}. That method is written here and not added by the weaver, so
 * that the weaver need not include this class.
 *
 * <p>Annotations composed of it are found up to two levels deep. Annotations on interface methods are not: AspectJ
 * looks at the method that runs.
 */
@Aspect
@DeclarePrecedence("io.lockkeeper.weaving.DistributedLockedAspect,"
        + " org.springframework.cache.aspectj..*, org.springframework.transaction.aspectj..*")
public final class DistributedLockedAspect {

    private static final DistributedLockedAspect ASPECT = new DistributedLockedAspect();

    private DistributedLockedAspect() {}

    /** Returns the one aspect; for woven code. */
    public static DistributedLockedAspect aspectOf() {
        return ASPECT;
    }

    /** Returns whether there is an aspect, which is always so; for woven code. */
    public static boolean hasAspect() {
        return true;
    }

    /**
     * Runs a method under its lock.
     *
     * @param call the call
     * @return what the caller gets
     * @throws Throwable what the method throws, unchanged, or why there was no lock
     */
    @Around(
            value = "execution(!static * *(..)) && (execution(@io.lockkeeper.annotation.DistributedLocked * *(..))"
                    + " || execution(@(@io.lockkeeper.annotation.DistributedLocked *) * *(..))"
                    + " || execution(@(@(@io.lockkeeper.annotation.DistributedLocked *) *) * *(..)))",
            argNames = "call")
    public @Nullable Object lock(ProceedingJoinPoint call) throws Throwable {
        return WovenLocks.interceptor().invoke(new WovenCall(call));
    }

    /** A call of a woven method, as the interceptor of proxies sees calls. */
    private record WovenCall(ProceedingJoinPoint call) implements MethodInvocation {

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
}
