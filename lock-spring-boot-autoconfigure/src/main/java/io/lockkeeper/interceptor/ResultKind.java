/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/** What a method's return type says about how it is run, and about how a call is skipped. */
final class ResultKind {

    private static final Map<Class<?>, Object> SKIPPED = Map.of(
            Optional.class, Optional.empty(),
            OptionalInt.class, OptionalInt.empty(),
            OptionalLong.class, OptionalLong.empty(),
            OptionalDouble.class, OptionalDouble.empty());

    private static final String FLOW = "kotlinx.coroutines.flow.Flow";
    private static final boolean REACTOR =
            ClassUtils.isPresent("reactor.core.publisher.Flux", ResultKind.class.getClassLoader());

    private final boolean suspending;
    private final ResolvableType type;
    private final Class<?> returnType;
    private final boolean neverNull;
    private final boolean isAsync;
    private final @Nullable OngoingResult ongoing;

    private ResultKind(AnnotatedMethod method, boolean suspending, ResolvableType type, boolean neverNull) {
        this.suspending = suspending;
        this.isAsync = !suspending && isAsync(method.method(), method.targetClass());
        this.type = type;
        this.returnType = type.resolve(method.method().getReturnType());
        this.neverNull = neverNull;
        this.ongoing = OngoingResult.find(method, type, suspending ? isFlow(returnType) : isHeld());
    }

    /** Looks at the return type of a method, as it is in the bean's class. */
    static ResultKind of(AnnotatedMethod method) {
        Method declared = method.method();
        if (SuspendingMethods.isSuspending(declared)) {
            ResolvableType value = SuspendingMethods.resultType(declared);
            Class<?> type = value.resolve(Object.class);
            boolean neverNull = type != void.class && !isFlow(type) && !SuspendingMethods.mayReturnNull(declared);
            return new ResultKind(method, true, value, neverNull);
        }
        return new ResultKind(method, false, ResolvableType.forMethodReturnType(declared, method.targetClass()), false);
    }

    /** Chooses how the method is run. */
    LockedExecution execution(Faults faults) {
        if (ongoing != null && ongoing.remedy() != null) {
            faults.add("", ongoing.problem(), ongoing.remedy());
        }
        if (suspending) {
            return suspendingExecution(faults);
        }
        if (isStage()) {
            return new StageExecution();
        }
        ReactiveAdapter adapter = adapter(returnType);
        if (adapter != null && isPublisher(adapter)) {
            return PublisherExecution.of(adapter);
        }
        if (returnType == Future.class && isAsync) {
            // Completed when it is returned, on the thread of the task: the caller's future is Spring's.
            return new BlockingExecution(true);
        }
        if (adapter != null || isAsynchronous(returnType)) {
            faults.add(
                    "",
                    "returns a " + returnType.getSimpleName()
                            + ", which ends after the method, and of whose end nothing tells",
                    remedy());
        }
        return new BlockingExecution(OngoingResult.isOpen(type));
    }

    /** Returns what goes on without the lock, and may be meant to; null: nothing does. */
    @Nullable
    OngoingResult ongoing() {
        return ongoing == null || ongoing.remedy() != null ? null : ongoing;
    }

    /** Whether the lock is held until a result of this type is done, or the type is refused. */
    private boolean isHeld() {
        return adapter(returnType) != null || isAsynchronous(returnType);
    }

    private boolean isStage() {
        return returnType == CompletableFuture.class || returnType == CompletionStage.class;
    }

    private boolean isPublisher(ReactiveAdapter adapter) {
        return returnType.isAssignableFrom(adapter.getReactiveType()) && !isRunning(returnType);
    }

    private LockedExecution suspendingExecution(Faults faults) {
        if (!SuspendingMethods.areRunnable()) {
            faults.add(
                    "",
                    "is a suspend function, and Spring needs kotlinx-coroutines-reactor and kotlin-reflect to run it",
                    "Add them to the class path");
            return new BlockingExecution(false);
        }
        return PublisherExecution.ofSuspending(isFlow(returnType) ? adapter(returnType) : null);
    }

    /**
     * Whether Spring runs the method on another thread, outside of its lock. By name, as the annotation may be
     * another's.
     */
    private static boolean isAsync(Method method, Class<?> targetClass) {
        String async = "org.springframework.scheduling.annotation.Async";
        return MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(async)
                || MergedAnnotations.from(targetClass, SearchStrategy.TYPE_HIERARCHY)
                        .isPresent(async);
    }

    static @Nullable ReactiveAdapter adapter(Class<?> type) {
        return REACTOR ? ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) : null;
    }

    /** Whether what is returned runs already, so that it cannot be put under a lock that comes later. */
    private static boolean isRunning(Class<?> type) {
        return Future.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type)
                || isOf(type, "kotlinx.coroutines.Job");
    }

    static boolean isAsynchronous(Class<?> type) {
        return isRunning(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || isOf(type, "org.reactivestreams.Publisher")
                || isOf(type, FLOW);
    }

    /** Returns whether a type has any number of values. */
    static boolean isMultiple(Class<?> type) {
        ReactiveAdapter adapter = adapter(type);
        return adapter == null ? !isRunning(type) : adapter.isMultiValue();
    }

    private static boolean isFlow(Class<?> type) {
        return type.getName().equals(FLOW);
    }

    /** By name, because the type may not be there. */
    static boolean isOf(@Nullable Class<?> type, String name) {
        return type != null
                && (type.getName().equals(name)
                        || isOf(type.getSuperclass(), name)
                        || Arrays.stream(type.getInterfaces()).anyMatch(each -> isOf(each, name)));
    }

    private String remedy() {
        if (isOf(returnType, "kotlinx.coroutines.Job")) {
            return "Make it a suspend function, or return the value itself";
        }
        return Future.class.isAssignableFrom(returnType) || CompletionStage.class.isAssignableFrom(returnType)
                ? "Return CompletableFuture or CompletionStage, or the value itself"
                : "Return a type that Spring's ReactiveAdapterRegistry knows, with reactor-core on the class path";
    }

    /**
     * Returns the value that a skipped call has: null, or an empty optional. A skipped stage has the value null, and a
     * skipped publisher has none.
     */
    @Nullable
    Object skippedResult(Faults faults) {
        ReactiveAdapter adapter = suspending ? null : adapter(returnType);
        boolean alwaysHasValue = adapter != null && !adapter.supportsEmpty();
        if (alwaysHasValue || (returnType.isPrimitive() && returnType != void.class)) {
            faults.add(
                    "skipWhenLocked",
                    "a skipped call cannot return " + returnType.getSimpleName(),
                    "Return void, Optional or a type that may be null, or leave skipWhenLocked out");
        }
        Object skipped = SKIPPED.get(returnType);
        if (neverNull && skipped == null) {
            faults.add(
                    "skipWhenLocked",
                    "a skipped call returns null, which " + returnType.getSimpleName() + " excludes",
                    "Write " + returnType.getSimpleName() + "?, or leave skipWhenLocked out");
        }
        return skipped;
    }
}
