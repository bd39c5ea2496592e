/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.annotation.DistributedLocked;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodParameter;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.http.HttpEntity;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.stereotype.Controller;
import org.springframework.util.ClassUtils;
import org.springframework.web.servlet.function.EntityResponse;

/** What a method's return type says. */
final class ResultKind {

    private static final Map<Class<?>, Object> SKIPPED = Map.of(
            Optional.class, Optional.empty(),
            OptionalInt.class, OptionalInt.empty(),
            OptionalLong.class, OptionalLong.empty(),
            OptionalDouble.class, OptionalDouble.empty());

    /** Types of which also a stream, or something else that goes on, may be. */
    private static final Set<Class<?>> OPEN = Set.of(Object.class, AutoCloseable.class, Iterator.class);

    /** What {@link Stream#iterator()} returns. */
    private static final String STREAM_ITERATOR = "java.util.Spliterators$";

    /** Results that consist of others are looked into so deep. */
    private static final int MOST_NESTED = 8;

    private static final boolean REACTOR =
            ClassUtils.isPresent("reactor.core.publisher.Flux", ResultKind.class.getClassLoader());

    /** Annotations that Spring knows of methods that run on another thread. */
    private static final Set<String> ASYNC = Set.of(
            "org.springframework.scheduling.annotation.Async",
            "jakarta.ejb.Asynchronous",
            "jakarta.enterprise.concurrent.Asynchronous");

    private static final String MAPPING = "org.springframework.web.bind.annotation.RequestMapping";
    private static final String FLOW = "kotlinx.coroutines.flow.Flow";
    private static final String JOB = "kotlinx.coroutines.Job";

    private static final Set<String> CONTAINERS = Set.of("java.util.Optional", "org.springframework.http.HttpEntity");

    /** What runs already when it is returned, so that it cannot be put under a lock that comes later. */
    private static final Set<String> RUNNING =
            Set.of("java.util.concurrent.Future", "java.util.concurrent.CompletionStage", JOB);

    private static final Set<String> PUBLISHERS =
            Set.of("java.util.concurrent.Flow$Publisher", "org.reactivestreams.Publisher", FLOW);

    /** What Spring MVC completes later. */
    private static final Set<String> COMPLETED_LATER = Set.of(
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask");

    /** What Spring MVC writes later. */
    private static final Set<String> WRITTEN_LATER = Set.of(
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter");

    private static final Set<String> RESPONSES = Set.of("org.springframework.web.servlet.function.ServerResponse");

    /** What responses of Spring MVC's handler functions are that go on. */
    private static final Set<String> ONGOING_RESPONSES = Set.of(
            "org.springframework.web.servlet.function.AsyncServerResponse",
            "org.springframework.web.servlet.function.SseServerResponse",
            "org.springframework.web.servlet.function.StreamingServerResponse");

    private static final Set<String> ENTITY_RESPONSES =
            Set.of("org.springframework.web.servlet.function.EntityResponse");

    /** Its body may be a publisher, which it does not show. */
    private static final Set<String> REACTIVE_RESPONSES =
            Set.of("org.springframework.web.reactive.function.server.ServerResponse");

    private static final Set<String> EVALUATED_LATER = Set.of(
            "java.util.stream.BaseStream",
            "java.util.concurrent.Callable",
            "org.springframework.beans.factory.ObjectFactory",
            "kotlin.sequences.Sequence",
            "kotlin.jvm.functions.Function0");

    /** Whether values of a class go on, or may: every call asks, and the look takes long. */
    private static final ClassValue<Boolean> GOING_ON = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return goesOn(type)
                    || isEvaluatedLater(type)
                    || Stream.of(CONTAINERS, ENTITY_RESPONSES, COMPLETED_LATER, WRITTEN_LATER, ONGOING_RESPONSES)
                            .anyMatch(names -> isOf(type, names));
        }
    };

    private static final String UNTIL_DONE = ", and the lock is held until it is done";

    private final AnnotatedMethod method;
    private final boolean suspending;
    private final ResolvableType type;
    private final Class<?> returnType;
    private final @Nullable Ongoing ongoing;

    /** Looks at the return type of a method as it is in the bean's class; of a suspend function, at its value's. */
    ResultKind(AnnotatedMethod method) {
        Method declared = method.method();
        this.method = method;
        this.suspending = AnnotatedMethod.isSuspending(declared);
        this.type = AnnotatedMethod.resultType(declared, method.targetClass());
        this.returnType = type.resolve(declared.getReturnType());
        this.ongoing = findOngoing();
    }

    /** A part of the result that goes on without the lock; without a remedy it may be meant, and is warned of. */
    private record Ongoing(Class<?> part, @Nullable String remedy) {}

    MethodLockSpec.Execution execution(Faults faults, ConfigurableListableBeanFactory beans) {
        if (ongoing != null && ongoing.remedy() != null) {
            faults.add(problem(ongoing), ongoing.remedy());
        }
        ReactiveAdapter adapter = adapter(returnType);
        OpenType open = isOpen(goesOn(returnType) ? type.getGeneric() : type) ? openType() : null;
        if (suspending && AnnotatedMethod.RUNNABLE) {
            return PublisherExecution.ofSuspending(isFlow() ? adapter : null, open);
        } else if (suspending) {
            faults.add(
                    "is a suspend function, and Spring needs kotlinx-coroutines-reactor and kotlin-reflect to run it",
                    "Add them to the class path");
        } else if (isStage(returnType)) {
            return (spec, call) -> LockedCall.runStage(spec, call, open);
        } else if (adapter != null && isPublisher(returnType, adapter)) {
            return PublisherExecution.of(adapter, open);
        } else if (returnType == Future.class && isAsync(beans)) {
            // Completed when it is returned, on the thread of the task: the caller's future is Spring's.
            return new LockedCall.BlockingExecution(openType());
        } else if (goesOn(returnType)) {
            faults.add(
                    "returns a " + returnType.getSimpleName()
                            + ", which goes on after the method, and for which no lock can be held",
                    remedy());
        }
        return new LockedCall.BlockingExecution(open);
    }

    private OpenType openType() {
        return new OpenType(source(), new AtomicBoolean());
    }

    /** Returns the type as it is written, without packages. */
    private String source() {
        String written = type.resolve() == null ? type.getType().getTypeName() : type.toString();
        return written.replaceAll("(?:\\w+[.$])+", "");
    }

    private String remedy() {
        return isOf(returnType, Set.of(JOB))
                ? "Make it a suspend function, or return the value itself"
                : isOf(returnType, RUNNING)
                        ? "Return CompletableFuture or CompletionStage, or the value itself"
                        : "Return a type that Spring's ReactiveAdapterRegistry knows, with reactor-core on the class path";
    }

    private boolean isAsync(ConfigurableListableBeanFactory beans) {
        Stream<String> own = Arrays.stream(beans.getBeanDefinitionNames())
                .flatMap(name -> Stream.ofNullable(beans.findAnnotationOnBean(name, EnableAsync.class, false)))
                .map(each -> each.annotation().getName());
        List<String> all = Stream.concat(ASYNC.stream(), own).toList();
        return Stream.of(method.method(), method.targetClass())
                .map(element -> MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY))
                .anyMatch(annotations -> all.stream().anyMatch(annotations::isPresent));
    }

    private boolean isFlow() {
        return returnType.getName().equals(FLOW);
    }

    @Nullable
    String warning() {
        if (ongoing == null || ongoing.remedy() != null) {
            return null;
        }
        return isOf(ongoing.part(), REACTIVE_RESPONSES)
                ? "returns " + source()
                        + ", and a publisher in its body goes on after the method, without the lock: put"
                        + " @DistributedLocked on a method of another bean that returns the values of the body"
                : problem(ongoing)
                        + ": return what comes out of it, such as a List or a value, or a CompletableFuture, Mono or Flux of"
                        + " that";
    }

    private String problem(Ongoing found) {
        return "returns " + source() + ", and the " + found.part().getSimpleName()
                + " goes on after the method, without the lock";
    }

    /** Returns what a skipped call has, also as the value of a stage; null for a publisher that has none. */
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
        boolean mayBeNull = !suspending
                || returnType == void.class
                || isFlow()
                || new MethodParameter(method.method(), -1).isOptional();
        if (!mayBeNull && skipped == null) {
            faults.add(
                    "skipWhenLocked",
                    "a skipped call returns null, which " + returnType.getSimpleName() + " excludes",
                    "Write " + returnType.getSimpleName() + "?, or leave skipWhenLocked out");
        }
        return skipped;
    }

    /** Looks for the part that matters most. The lock is held until some results are done, and others are refused. */
    private @Nullable Ongoing findOngoing() {
        boolean handlesRequests = AnnotatedElementUtils.hasAnnotation(method.targetClass(), Controller.class)
                && MergedAnnotations.from(method.method(), SearchStrategy.TYPE_HIERARCHY)
                        .isPresent(MAPPING);
        Class<?> raw = type.resolve(Object.class);
        if (isOf(raw, COMPLETED_LATER) || (handlesRequests && Callable.class.isAssignableFrom(raw))) {
            return new Ongoing(raw, "Return CompletableFuture, which Spring MVC waits for as well" + UNTIL_DONE);
        }
        boolean held = suspending ? isFlow() : goesOn(returnType);
        return findOngoing(type, !held && goesOn(raw), MOST_NESTED);
    }

    private static @Nullable Ongoing findOngoing(ResolvableType part, boolean goesOn, int depth) {
        Class<?> raw = part.resolve(Object.class);
        if (isOf(raw, WRITTEN_LATER)) {
            return new Ongoing(
                    raw,
                    "Put @DistributedLocked on a method of another bean, and call that while the response is written");
        }
        Ongoing found =
                goesOn || isEvaluatedLater(raw) || isOf(raw, REACTIVE_RESPONSES) ? new Ongoing(raw, null) : null;
        // A type may have itself as its bound: class Category<C extends Category<C>>.
        for (ResolvableType inner : depth == 0 ? List.<ResolvableType>of() : parts(part, raw)) {
            Class<?> content = inner.resolve(Object.class);
            if (isOf(raw, CONTAINERS) && goesOn(content)) {
                return new Ongoing(content, "Return " + turned(raw, content) + UNTIL_DONE);
            }
            Ongoing inside = findOngoing(inner, goesOn(content), depth - 1);
            if (inside != null && isCollection(raw) && goesOn(inside.part())) {
                // Turned inside out it would still be in the collection.
                inside = new Ongoing(inside.part(), null);
            }
            if (inside != null && (found == null || inside.remedy() != null)) {
                found = inside;
            }
        }
        return found;
    }

    private static List<ResolvableType> parts(ResolvableType type, Class<?> raw) {
        if (type.isArray()) {
            return List.of(type.getComponentType());
        }
        boolean hasParts = isOf(raw, CONTAINERS) || goesOn(raw) || isCollection(raw);
        return hasParts ? List.of(type.getGenerics()) : List.of();
    }

    private static boolean isCollection(Class<?> type) {
        return type.isArray()
                || (Iterable.class.isAssignableFrom(type) && !goesOn(type))
                || Map.class.isAssignableFrom(type)
                || Map.Entry.class.isAssignableFrom(type);
    }

    private static String turned(Class<?> outer, Class<?> inner) {
        ReactiveAdapter adapter = adapter(inner);
        boolean isMultiple = adapter == null ? !isOf(inner, RUNNING) : adapter.isMultiValue();
        boolean isHeld = isStage(inner) || (adapter != null && isPublisher(inner, adapter));
        String held = isHeld ? inner.getSimpleName() : isMultiple ? "Flux" : "CompletableFuture";
        return isMultiple ? held + " itself" : held + "<" + outer.getSimpleName() + "<..>>";
    }

    private static boolean isStage(Class<?> type) {
        return type == CompletableFuture.class || type == CompletionStage.class;
    }

    private static boolean isPublisher(Class<?> type, ReactiveAdapter adapter) {
        return type.isAssignableFrom(adapter.getReactiveType()) && !isOf(type, RUNNING);
    }

    /** Returns whether only the value itself tells whether it goes on. */
    private static boolean isOpen(ResolvableType type) {
        Class<?> raw = type.resolve(Object.class);
        return OPEN.contains(raw)
                || isOf(raw, RESPONSES)
                || (isOf(raw, CONTAINERS) && (!type.hasGenerics() || isOpen(type.getGeneric())));
    }

    /** Returns what goes on, or is evaluated later, of the result of a method with an open type; null: nothing. */
    static @Nullable Object findOngoing(Object returned) {
        Class<?> type = returned.getClass();
        if (!GOING_ON.get(type)) {
            return null;
        } else if (isOf(type, CONTAINERS)) {
            Object content = returned instanceof Optional<?> optional ? optional.orElse(null) : Entities.body(returned);
            return content == null ? null : findOngoing(content);
        } else if (isOf(type, ENTITY_RESPONSES)) {
            return findOngoing(Responses.entity(returned));
        }
        return returned instanceof Future<?> future && future.isDone() ? null : returned;
    }

    private static @Nullable ReactiveAdapter adapter(Class<?> type) {
        return REACTOR ? ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) : null;
    }

    private static boolean goesOn(Class<?> type) {
        return isOf(type, RUNNING) || isOf(type, PUBLISHERS) || adapter(type) != null;
    }

    /** Pages of Spring Data, and other collections, are functions too, and have their values already. */
    private static boolean isEvaluatedLater(Class<?> type) {
        return type.getName().startsWith(STREAM_ITERATOR)
                || isOf(type, EVALUATED_LATER)
                || (isFunction(type) && !Iterable.class.isAssignableFrom(type));
    }

    private static boolean isFunction(@Nullable Class<?> type) {
        return type != null
                && (type == Runnable.class
                        || type.getPackageName().equals("java.util.function")
                        || isFunction(type.getSuperclass())
                        || Arrays.stream(type.getInterfaces()).anyMatch(ResultKind::isFunction));
    }

    /** Types are compared by name, because their libraries may not be there. */
    static boolean isOf(@Nullable Class<?> type, Set<String> names) {
        return type != null
                && (names.contains(type.getName())
                        || isOf(type.getSuperclass(), names)
                        || Arrays.stream(type.getInterfaces()).anyMatch(each -> isOf(each, names)));
    }

    /** A declared type of which only a value tells whether it goes on without the lock: warns once of one that does. */
    record OpenType(String declared, AtomicBoolean warned) {

        private static final Logger log = LoggerFactory.getLogger(DistributedLocked.class);

        void look(@Nullable Object value, MethodLockSpec spec) {
            Object ongoing = value == null || warned.get() ? null : findOngoing(value);
            if (ongoing != null && warned.compareAndSet(false, true)) {
                log.warn(
                        "{} returned a {}, which goes on without the lock, because {} is declared as its return type. Declare"
                                + " a CompletableFuture, Mono or Flux of the values themselves, here or for a method of"
                                + " another bean, and the lock is held until the end. Said once for each method",
                        spec.settings().label(),
                        ongoing.getClass().getSimpleName(),
                        declared);
            }
        }
    }

    /** Only loaded where spring-web is there. */
    private static final class Entities {

        static @Nullable Object body(Object entity) {
            return ((HttpEntity<?>) entity).getBody();
        }
    }

    /** Only loaded where spring-webmvc is there. */
    private static final class Responses {

        static Object entity(Object response) {
            return ((EntityResponse<?>) response).entity();
        }
    }
}
