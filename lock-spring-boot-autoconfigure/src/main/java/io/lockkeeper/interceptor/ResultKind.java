package io.lockkeeper.interceptor;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;

/** What a method's return type says about how it is run, and about how a call is skipped. */
final class ResultKind {

    private static final Map<Class<?>, Object> SKIPPED = Map.of(
            Optional.class, Optional.empty(),
            OptionalInt.class, OptionalInt.empty(),
            OptionalLong.class, OptionalLong.empty(),
            OptionalDouble.class, OptionalDouble.empty());

    private final AnnotatedMethod method;
    private final Class<?> returnType;

    private ResultKind(AnnotatedMethod method, Class<?> returnType) {
        this.method = method;
        this.returnType = returnType;
    }

    /** Looks at the return type of a method, as it is in the bean's class. */
    static ResultKind of(AnnotatedMethod method) {
        Class<?> declared = method.method().getReturnType();
        return new ResultKind(
                method,
                ResolvableType.forMethodReturnType(method.method(), method.targetClass())
                        .resolve(declared));
    }

    /**
     * Chooses how the method is run.
     *
     * @param faults receives a kind that cannot be run
     */
    LockedExecution execution(Faults faults) {
        if (isAsynchronous()) {
            faults.add(
                    "",
                    "returns " + kind() + ", which ends after the method; such methods cannot be locked yet",
                    "Return the value itself, or use LockOperations.executeAsync inside the method");
        }
        return new BlockingExecution();
    }

    private boolean isAsynchronous() {
        return KotlinDetector.isSuspendingFunction(method.method())
                || CompletionStage.class.isAssignableFrom(returnType)
                || Future.class.isAssignableFrom(returnType)
                || Flow.Publisher.class.isAssignableFrom(returnType)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(returnType) != null;
    }

    private String kind() {
        return KotlinDetector.isSuspendingFunction(method.method())
                ? "the result of a suspend function"
                : "a " + returnType.getSimpleName();
    }

    /**
     * Returns what a skipped call returns: null, or an empty optional.
     *
     * @param faults receives a type that can say neither
     */
    @Nullable
    Object skippedResult(Faults faults) {
        if (returnType.isPrimitive() && returnType != void.class) {
            faults.add(
                    "skipWhenLocked",
                    "a skipped call cannot return " + returnType.getSimpleName(),
                    "Return void, Optional or a type that may be null, or leave skipWhenLocked out");
        }
        return SKIPPED.get(returnType);
    }
}
