/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What expressions in lock names see as {@code #root}. */
final class NameRoot {

    /** The names of its properties. */
    static final Set<String> PROPERTIES = Set.of("method", "args", "target", "targetClass");

    private final Method method;
    private final @Nullable Object[] args;
    private final @Nullable Object target;
    private final Class<?> targetClass;

    NameRoot(Method method, @Nullable Object[] args, @Nullable Object target, Class<?> targetClass) {
        this.method = method;
        this.args = args;
        this.target = target;
        this.targetClass = targetClass;
    }

    /** Returns the annotated method of the bean's class. */
    public Method getMethod() {
        return method;
    }

    /** Returns the arguments of the call. */
    public @Nullable Object[] getArgs() {
        return args;
    }

    /** Returns the bean, not its proxy. */
    public @Nullable Object getTarget() {
        return target;
    }

    /** Returns the bean's class. */
    public Class<?> getTargetClass() {
        return targetClass;
    }
}
