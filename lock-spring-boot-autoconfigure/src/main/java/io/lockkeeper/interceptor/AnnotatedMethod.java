/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockLease;
import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kotlin.coroutines.AbstractCoroutineContextElement;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.CoroutineContext;
import kotlinx.coroutines.ThreadContextElement;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodClassKey;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotationConfigurationException;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/**
 * A method that runs, no bridge and not of an interface where the class has it, and where its annotation was found;
 * ambiguous: other annotations, which say something else, are as near.
 */
record AnnotatedMethod(
        Method method, Method declaration, Class<?> targetClass, DistributedLocked annotation, boolean isAmbiguous) {

    /** Whether everything is there with which Spring runs suspend functions. */
    static final boolean RUNNABLE =
            ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt", AnnotatedMethod.class.getClassLoader())
                    && KotlinDetector.isKotlinReflectPresent();

    private static final Pattern KOTLIN_SUFFIX = Pattern.compile("(?<=.)(-[A-Za-z0-9_-]{7})?(\\$[^$]+)?$");

    static @Nullable AnnotatedMethod find(Method invoked, Class<?> beanClass) {
        Class<?> targetClass = ClassUtils.getUserClass(beanClass);
        Method method = AopUtils.getMostSpecificMethod(invoked, targetClass);
        // A superclass may have the method and know nothing of the interface that the bean's class gives it.
        List<Method> declared = Stream.concat(Stream.of(method, invoked), implementedBy(method, targetClass))
                .distinct()
                .toList();
        try {
            List<MergedAnnotation<DistributedLocked>> all = declared.stream()
                    .flatMap(each ->
                            MergedAnnotations.from(each, SearchStrategy.TYPE_HIERARCHY).stream(DistributedLocked.class))
                    .toList();
            MergedAnnotation<DistributedLocked> locking = all.stream()
                    .filter(each -> all.stream()
                            .noneMatch(
                                    other -> source(other).getDeclaringClass().isInterface() && isNearer(other, each)))
                    .findFirst()
                    .orElse(MergedAnnotation.missing());
            if (!locking.isPresent()) {
                return null;
            }
            DistributedLocked annotation = locking.synthesize();
            boolean isAmbiguous = all.stream()
                    .filter(each -> all.stream().noneMatch(other -> isNearer(other, each)))
                    .anyMatch(each -> !each.synthesize().equals(annotation));
            return new AnnotatedMethod(method, source(locking), targetClass, annotation, isAmbiguous);
        } catch (AnnotationConfigurationException contradiction) {
            // Two names for the same attribute: reported with all the other faults.
            for (Method each : declared) {
                DistributedLocked written = each.getAnnotation(DistributedLocked.class);
                if (written != null && isContradictory(written)) {
                    return new AnnotatedMethod(method, each, targetClass, written, false);
                }
            }
            throw contradiction;
        }
    }

    private static boolean isContradictory(DistributedLocked written) {
        return written.name().length > 0
                && written.value().length > 0
                && !Arrays.equals(written.name(), written.value());
    }

    static Collection<AnnotatedMethod> allOf(Class<?> type) {
        return MethodIntrospector.selectMethods(
                        type, (MethodIntrospector.MetadataLookup<AnnotatedMethod>) method -> find(method, type))
                .values();
    }

    /** Returns the methods of interfaces that a method of a class implements, generic ones included. */
    static Stream<Method> implementedBy(Method method, Class<?> targetClass) {
        int modifiers = method.getModifiers();
        if (!Modifier.isPublic(modifiers) || Modifier.isStatic(modifiers)) {
            return Stream.empty();
        }
        return Arrays.stream(ClassUtils.getAllInterfacesForClass(targetClass))
                .flatMap(type -> Arrays.stream(type.getMethods()))
                .filter(declared -> declared.getName().equals(method.getName())
                        && declared.getParameterCount() == method.getParameterCount()
                        && AopUtils.getMostSpecificMethod(declared, targetClass).equals(method));
    }

    private static Method source(MergedAnnotation<?> annotation) {
        return (Method) Objects.requireNonNull(annotation.getSource());
    }

    private static boolean isNearer(MergedAnnotation<?> one, MergedAnnotation<?> other) {
        Class<?> type = source(one).getDeclaringClass();
        Class<?> above = source(other).getDeclaringClass();
        return type == above
                ? one.getRoot().getType() == other.getRoot().getType() && one.getDistance() < other.getDistance()
                : above.isAssignableFrom(type) || (above.isInterface() && !type.isInterface());
    }

    /** Returns the declaring class by a name that is the same in every process: a lambda and a proxy have none. */
    Class<?> declaringClass() {
        Class<?> type = method.getDeclaringClass();
        return type.isHidden() || Proxy.isProxyClass(type) ? declaration.getDeclaringClass() : type;
    }

    /** Returns the name of a method as it is written: Kotlin adds to those that are internal or take a value class. */
    static String sourceName(Method method) {
        return KotlinDetector.isKotlinType(method.getDeclaringClass())
                ? KOTLIN_SUFFIX.matcher(method.getName()).replaceFirst("")
                : method.getName();
    }

    MethodClassKey key() {
        return new MethodClassKey(method, targetClass);
    }

    String defaultName() {
        return declaringClass().getName() + "." + sourceName(method);
    }

    String label() {
        return declaringClass().getSimpleName() + "." + sourceName(method);
    }

    String signature() {
        return signature(method);
    }

    static String signature(Method method) {
        return Arrays.stream(parameterTypes(method))
                .map(Class::getSimpleName)
                .collect(Collectors.joining(", ", method.getName() + "(", ")"));
    }

    @Override
    public String toString() {
        return declaringClass().getName() + "." + signature();
    }

    static boolean isSuspending(Method method) {
        return KotlinDetector.isSuspendingFunction(method);
    }

    static int parameterCount(Method method) {
        return method.getParameterCount() - (isSuspending(method) ? 1 : 0);
    }

    static Class<?>[] parameterTypes(Method method) {
        return Arrays.copyOf(method.getParameterTypes(), parameterCount(method));
    }

    /** Returns the type of the value, not that of a function which may be suspended before it has one. */
    static ResolvableType resultType(Method method, Class<?> type) {
        return isSuspending(method)
                ? ResolvableType.forType(new MethodParameter(method, -1).getGenericParameterType())
                : ResolvableType.forMethodReturnType(method, type);
    }

    static @Nullable Object[] arguments(Method method, @Nullable Object[] all) {
        return isSuspending(method) ? Arrays.copyOf(all, all.length - 1) : all;
    }

    /** Puts whichever thread runs a coroutine under leases, while it does. Only loaded where Kotlin is there. */
    static final class Coroutine extends AbstractCoroutineContextElement
            implements ThreadContextElement<List<Runnable>> {

        private static final CoroutineContext.Key<Coroutine> KEY = new CoroutineContext.Key<>() {};

        private final List<LockLease> leases;

        private Coroutine(List<LockLease> leases) {
            super(KEY);
            this.leases = leases;
        }

        /** Lets the coroutine of a call run under leases, the innermost last: replaces the last argument. */
        static void enter(@Nullable Object[] args, List<LockLease> leases) {
            int last = args.length - 1;
            if (args[last] instanceof Continuation<?> caller) {
                args[last] = new Caller<>(caller, caller.getContext().plus(new Coroutine(leases)));
            }
        }

        @Override
        public List<Runnable> updateThreadContext(CoroutineContext context) {
            return leases.stream().map(LockContext::enterThread).toList();
        }

        @Override
        public void restoreThreadContext(CoroutineContext context, List<Runnable> leave) {
            for (int i = leave.size() - 1; i >= 0; i--) {
                leave.get(i).run();
            }
        }

        /** The caller, in whose context the coroutine of the body begins. */
        private record Caller<T>(Continuation<T> continuation, CoroutineContext context) implements Continuation<T> {

            @Override
            public CoroutineContext getContext() {
                return context;
            }

            @Override
            public void resumeWith(Object result) {
                continuation.resumeWith(result);
            }
        }
    }
}
