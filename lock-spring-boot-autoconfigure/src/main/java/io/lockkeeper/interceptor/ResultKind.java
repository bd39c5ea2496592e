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
    private final Class<?> returnType;
    private final boolean neverNull;
    private final boolean isAsync;

    private ResultKind(boolean suspending, Class<?> returnType, boolean neverNull, boolean isAsync) {
        this.suspending = suspending;
        this.isAsync = isAsync;
        this.returnType = returnType;
        this.neverNull = neverNull;
    }

    /** Looks at the return type of a method, as it is in the bean's class. */
    static ResultKind of(AnnotatedMethod method) {
        Method declared = method.method();
        if (SuspendingMethods.isSuspending(declared)) {
            Class<?> type = SuspendingMethods.returnType(declared);
            boolean neverNull =
                    type != void.class && !type.getName().equals(FLOW) && !SuspendingMethods.mayReturnNull(declared);
            return new ResultKind(true, type, neverNull, false);
        }
        Class<?> type = ResolvableType.forMethodReturnType(declared, method.targetClass())
                .resolve(declared.getReturnType());
        return new ResultKind(false, type, false, isAsync(declared, method.targetClass()));
    }

    /**
     * Chooses how the method is run.
     *
     * @param faults receives a kind that cannot be run
     */
    LockedExecution execution(Faults faults) {
        if (suspending) {
            return suspendingExecution(faults);
        }
        if (returnType == CompletableFuture.class || returnType == CompletionStage.class) {
            return new StageExecution();
        }
        ReactiveAdapter adapter = adapter();
        if (adapter != null && returnType.isAssignableFrom(adapter.getReactiveType()) && !isRunning()) {
            return PublisherExecution.of(adapter);
        }
        if (returnType == Future.class && isAsync) {
            // Completed when it is returned, on the thread of the task: the caller's future is Spring's.
            return new OpenResultExecution();
        }
        if (adapter != null || isAsynchronous()) {
            faults.add(
                    "",
                    "returns a " + returnType.getSimpleName()
                            + ", which ends after the method, and of whose end nothing tells",
                    remedy());
        }
        return returnType == Object.class ? new OpenResultExecution() : new BlockingExecution();
    }

    /** Returns whether what a method returned has not ended yet. */
    static boolean goesOn(Object returned) {
        return returned instanceof Future<?> future
                ? !future.isDone()
                : new ResultKind(false, returned.getClass(), false, false).isAsynchronous();
    }

    private LockedExecution suspendingExecution(Faults faults) {
        if (!SuspendingMethods.areRunnable()) {
            faults.add(
                    "",
                    "is a suspend function, and Spring needs kotlinx-coroutines-reactor and kotlin-reflect to run it",
                    "Add them to the class path");
            return new BlockingExecution();
        }
        boolean flow = returnType.getName().equals(FLOW);
        return PublisherExecution.ofSuspending(flow ? adapter() : null);
    }

    /** Whether Spring runs the method on another thread, outside of its lock. By name, as the annotation may be another's. */
    private static boolean isAsync(Method method, Class<?> targetClass) {
        String async = "org.springframework.scheduling.annotation.Async";
        return MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(async)
                || MergedAnnotations.from(targetClass, SearchStrategy.TYPE_HIERARCHY)
                        .isPresent(async);
    }

    private @Nullable ReactiveAdapter adapter() {
        return REACTOR ? ReactiveAdapterRegistry.getSharedInstance().getAdapter(returnType) : null;
    }

    /** Whether what is returned runs already, so that it cannot be put under a lock that comes later. */
    private boolean isRunning() {
        return Future.class.isAssignableFrom(returnType)
                || CompletionStage.class.isAssignableFrom(returnType)
                || isOf("kotlinx.coroutines.Job");
    }

    private boolean isAsynchronous() {
        return isRunning()
                || Flow.Publisher.class.isAssignableFrom(returnType)
                || isOf("org.reactivestreams.Publisher")
                || isOf(FLOW);
    }

    /** By name, because the type may not be there. */
    private boolean isOf(String interfaceName) {
        return isOf(returnType, interfaceName);
    }

    private static boolean isOf(@Nullable Class<?> type, String interfaceName) {
        return type != null
                && (type.getName().equals(interfaceName)
                        || isOf(type.getSuperclass(), interfaceName)
                        || Arrays.stream(type.getInterfaces()).anyMatch(each -> isOf(each, interfaceName)));
    }

    private String remedy() {
        if (isOf("kotlinx.coroutines.Job")) {
            return "Make it a suspend function, or return the value itself";
        }
        return Future.class.isAssignableFrom(returnType) || CompletionStage.class.isAssignableFrom(returnType)
                ? "Return CompletableFuture or CompletionStage, or the value itself"
                : "Return a type that Spring's ReactiveAdapterRegistry knows, with reactor-core on the class path";
    }

    /**
     * Returns the value that a skipped call has: null, or an empty optional. A skipped stage has the value null, and a
     * skipped publisher has none.
     *
     * @param faults receives a type that can say neither
     */
    @Nullable
    Object skippedResult(Faults faults) {
        ReactiveAdapter adapter = suspending ? null : adapter();
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
