/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.BaseStream;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.http.HttpEntity;
import org.springframework.stereotype.Controller;

/**
 * A part of a method's result that goes on, or is evaluated, after the method has returned: without its lock.
 *
 * @param result the method's return type, as its source writes it
 * @param part the type that goes on
 * @param remedy what to do instead; null: a caller may be meant to go on, and is only warned
 */
record OngoingResult(String result, String part, @Nullable String remedy) {

    /** Results that consist of others are looked into so deep. */
    private static final int MOST_NESTED = 8;

    private static final String ENTITY = "org.springframework.http.HttpEntity";
    private static final String MAPPING = "org.springframework.web.bind.annotation.RequestMapping";
    private static final String UNTIL_DONE = ", and the lock is held until it is done";

    /** What Spring MVC completes later. By name, as all that may not be there. */
    private static final List<String> COMPLETED_LATER = List.of(
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask");

    /** What Spring MVC writes later. */
    private static final List<String> WRITTEN_LATER = List.of(
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter");

    private static final List<String> EVALUATED_LATER =
            List.of("kotlin.sequences.Sequence", "kotlin.jvm.functions.Function0");

    /**
     * Looks for the part that matters most; null: there is none, or the lock is held until a result of this type is
     * done.
     */
    static @Nullable OngoingResult find(AnnotatedMethod method, ResolvableType type, boolean held) {
        Class<?> raw = type.resolve(Object.class);
        boolean handled = AnnotatedElementUtils.hasAnnotation(method.targetClass(), Controller.class)
                && MergedAnnotations.from(method.method(), SearchStrategy.TYPE_HIERARCHY)
                        .isPresent(MAPPING);
        if (isAny(raw, COMPLETED_LATER) || (handled && Callable.class.isAssignableFrom(raw))) {
            return new OngoingResult(
                    source(type),
                    raw.getSimpleName(),
                    "Return CompletableFuture, which Spring MVC waits for as well" + UNTIL_DONE);
        }
        return find(type, type, held || !goesOn(raw) ? null : type, MOST_NESTED);
    }

    private static @Nullable OngoingResult find(
            ResolvableType whole, ResolvableType type, @Nullable ResolvableType in, int depth) {
        Class<?> raw = type.resolve(Object.class);
        if (isAny(raw, WRITTEN_LATER)) {
            return new OngoingResult(
                    source(whole),
                    raw.getSimpleName(),
                    "Put @DistributedLocked on a method of another bean, and call that while the response is written");
        }
        boolean entity = ResultKind.isOf(raw, ENTITY) || raw == Optional.class;
        OngoingResult found = in != null || isEvaluatedLater(raw)
                ? new OngoingResult(source(whole), raw.getSimpleName(), null)
                : null;
        // A type may have itself as its bound: class Category<C extends Category<C>>.
        for (ResolvableType part : depth == 0 ? List.<ResolvableType>of() : parts(type, raw)) {
            Class<?> content = part.resolve(Object.class);
            if (entity && goesOn(content)) {
                return new OngoingResult(
                        source(whole), content.getSimpleName(), "Return " + turned(raw, content) + UNTIL_DONE);
            }
            OngoingResult inside = find(whole, part, goesOn(content) ? part : null, depth - 1);
            if (inside != null && (found == null || inside.remedy() != null)) {
                found = inside;
            }
        }
        return found;
    }

    String problem() {
        return "returns " + result + ", and the " + part + " goes on after the method, without the lock";
    }

    /** Returns what a result consists of, where its type says so. */
    private static List<ResolvableType> parts(ResolvableType type, Class<?> raw) {
        if (type.isArray()) {
            return List.of(type.getComponentType());
        }
        boolean hasParts = ResultKind.isOf(raw, ENTITY)
                || raw == Optional.class
                || goesOn(raw)
                || Iterable.class.isAssignableFrom(raw)
                || Map.class.isAssignableFrom(raw);
        return hasParts ? List.of(type.getGenerics()) : List.of();
    }

    private static String turned(Class<?> outer, Class<?> inner) {
        return ResultKind.isMultiple(inner)
                ? inner.getSimpleName() + " itself"
                : inner.getSimpleName() + "<" + outer.getSimpleName() + "<..>>";
    }

    /** Returns what goes on, or is evaluated later, of what a method with an open return type returned; null: nothing. */
    static @Nullable Object find(Object returned) {
        if (returned instanceof Optional<?> optional) {
            return optional.map(OngoingResult::find).orElse(null);
        }
        Class<?> type = returned.getClass();
        if (ResultKind.isOf(type, ENTITY)) {
            Object body = Entities.body(returned);
            return body == null ? null : find(body);
        }
        boolean ongoing = returned instanceof Future<?> future
                ? !future.isDone()
                : goesOn(type) || isEvaluatedLater(type) || isAny(type, COMPLETED_LATER) || isAny(type, WRITTEN_LATER);
        return ongoing ? returned : null;
    }

    /** Returns whether only the value itself tells whether it goes on. */
    static boolean isOpen(ResolvableType type) {
        Class<?> raw = type.resolve(Object.class);
        return raw == Object.class
                || ((ResultKind.isOf(raw, ENTITY) || raw == Optional.class)
                        && isOpen(type.hasGenerics() ? type.getGeneric() : ResolvableType.forClass(Object.class)));
    }

    private static boolean goesOn(Class<?> type) {
        return ResultKind.isAsynchronous(type) || ResultKind.adapter(type) != null;
    }

    /** Pages of Spring Data supply streams too, and have their values already. */
    private static boolean isEvaluatedLater(Class<?> type) {
        return BaseStream.class.isAssignableFrom(type)
                || Callable.class.isAssignableFrom(type)
                || (Supplier.class.isAssignableFrom(type) && !Iterable.class.isAssignableFrom(type))
                || isAny(type, EVALUATED_LATER);
    }

    private static boolean isAny(Class<?> type, List<String> names) {
        return names.stream().anyMatch(name -> ResultKind.isOf(type, name));
    }

    private static String source(ResolvableType type) {
        if (type.isArray()) {
            return source(type.getComponentType()) + "[]";
        }
        Class<?> raw = type.resolve();
        String name = raw == null ? "?" : raw.getSimpleName();
        return raw == null || !type.hasGenerics()
                ? name
                : Arrays.stream(type.getGenerics())
                        .map(OngoingResult::source)
                        .collect(Collectors.joining(", ", name + "<", ">"));
    }

    /** Only loaded where spring-web is there. */
    private static final class Entities {

        static @Nullable Object body(Object entity) {
            return ((HttpEntity<?>) entity).getBody();
        }
    }
}
