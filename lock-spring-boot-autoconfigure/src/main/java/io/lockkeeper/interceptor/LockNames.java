/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Calendar;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Set;
import java.util.Spliterator;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NativeDetector;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelMessage;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.Operator;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.util.ObjectUtils;

/** The names that a method locks, at least one, prepared for its calls, which share the context of their evaluation. */
record LockNames(AnnotatedMethod owner, List<List<NamePart>> templates, EvaluationContext context) {

    /** The text of an array; a single letter before few digits may be anything. */
    private static final Pattern ARRAY =
            Pattern.compile("\\[(?:L[^\\[\\];]+;@[0-9a-f]|[BCDFIJSZ]@[0-9a-f]{6,8}(?![\\w.]))");

    /** What may be the text of an object without one of its own, also of a lambda; its class is the group. */
    private static final Pattern OBJECT = Pattern.compile("(?<![\\p{javaJavaIdentifierPart}.])"
            + "([\\p{javaJavaIdentifierPart}.]+)(?:/0x[0-9a-f]+)?@[0-9a-f]{1,8}\\b(?!\\.\\w)");

    /** Those that have no order of their own, or may have none, and what makes such ones. */
    private static final Set<Class<?>> UNORDERED = Set.of(
            HashMap.class,
            HashSet.class,
            ConcurrentHashMap.class,
            Hashtable.class,
            Properties.class,
            IdentityHashMap.class,
            WeakHashMap.class,
            AbstractMap.class,
            Collections.class,
            Map.of().getClass().getNestHost());

    /**
     * What expressions see as {@code #root}: the method and the class are those of the bean, not of its proxy. Public
     * for compiled expressions, which read the parameters from here.
     */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    public record Root(
            Method method,
            @Nullable Object[] args,
            @Nullable Object target,
            Class<?> targetClass) {}

    boolean isConstant() {
        return templates.stream().flatMap(List::stream).allMatch(NamePart::isLiteral);
    }

    /** Returns the names as they are written, but each parameter by its position, whatever a method calls it. */
    List<String> written() {
        return templates.stream()
                .map(template -> join(template, NamePart::written))
                .toList();
    }

    static String join(List<NamePart> template, Function<NamePart, String> text) {
        return template.stream().map(text).collect(Collectors.joining());
    }

    /** Returns the names for a call; an IllegalArgumentException says which expression failed or has no value. */
    List<String> of(@Nullable Object target, @Nullable Object[] args) {
        Root call = new Root(owner.method(), args, target, owner.targetClass());
        if (templates.size() == 1) {
            return names(templates.get(0), call);
        }
        List<String> names = new ArrayList<>(templates.size());
        templates.forEach(template -> names.addAll(names(template, call)));
        return names;
    }

    private List<String> names(List<NamePart> template, Root call) {
        // Every call comes through here: a name is made without lists as long as no expression has several values.
        String name = "";
        List<String> several = null;
        for (int i = 0; i < template.size(); i++) {
            NamePart part = template.get(i);
            Object value = part.isLiteral() ? part.text() : value(part, call);
            boolean isSeveral = value instanceof Collection || ObjectUtils.isArray(value);
            String text = isSeveral ? "" : part.isLiteral() ? part.text() : text(part, value);
            if (!isSeveral && several == null) {
                name = name.isEmpty() ? text : name.concat(text);
            } else {
                List<String> endings = isSeveral ? texts(part, value) : List.of(text);
                several = (several == null ? Stream.of(name) : several.stream())
                        .flatMap(beginning -> endings.stream().map(beginning::concat))
                        .toList();
            }
        }
        return several == null ? List.of(name) : several;
    }

    private @Nullable Object value(NamePart part, Root call) {
        try {
            return unwrapped(part.value(context, call));
        } catch (EvaluationException failure) {
            throw wrong(part, "cannot be evaluated: " + failure.getMessage(), failure);
        }
    }

    private static @Nullable Object unwrapped(@Nullable Object value) {
        if (value instanceof Optional<?> optional) {
            return unwrapped(optional.orElse(null));
        } else if (value instanceof OptionalInt number) {
            return number.isPresent() ? number.getAsInt() : null;
        } else if (value instanceof OptionalLong number) {
            return number.isPresent() ? number.getAsLong() : null;
        } else if (value instanceof OptionalDouble number) {
            return number.isPresent() ? number.getAsDouble() : null;
        }
        return value;
    }

    private List<String> texts(NamePart part, @Nullable Object value) {
        Object[] elements =
                value instanceof Collection<?> collection ? collection.toArray() : ObjectUtils.toObjectArray(value);
        if (elements.length == 0) {
            throw wrong(part, "is empty, and gives no lock name", null);
        }
        return Arrays.stream(elements)
                .map(element -> text(part, unwrapped(element)))
                .toList();
    }

    private String text(NamePart part, @Nullable Object value) {
        String text = value == null ? null : value.toString();
        if (value == null || text == null || text.isBlank()) {
            throw wrong(part, value == null ? "is null" : "is blank", null);
        }
        // Every call comes through here, mostly with a string, which is data whatever it looks like.
        if (value instanceof CharSequence) {
            return text;
        }
        if (value instanceof Date || value instanceof Calendar) {
            throw wrong(
                    part,
                    "has a text in the time zone of the machine: name what has none, as in #date.toInstant(), or"
                            + " #date.toLocalDate() of java.sql.Date",
                    null);
        }
        if (hasNoOrder(value)) {
            throw wrong(
                    part,
                    "has its parts in no order that all machines share: name them one by one, or let it be sorted",
                    null);
        }
        if (text.indexOf('@') >= 0 && namesAnObject(value, text)) {
            throw wrong(
                    part,
                    "is or contains an object without a text of its own, which would be another lock on every machine:"
                            + " name a property of it (" + value.getClass() + ")",
                    null);
        }
        return text;
    }

    /** The texts of those that cannot be modified differ in each JVM, those of others with the hash codes of parts. */
    private static boolean hasNoOrder(Object value) {
        Set<?> parts = value instanceof Map<?, ?> map ? map.keySet() : value instanceof Set<?> set ? set : Set.of();
        // Views of maps, and wrappers, are nested in the classes that make them; what is in these tells its order.
        return parts.size() > 1
                && (UNORDERED.contains(value.getClass().getNestHost())
                        || value instanceof HashMap
                        || value instanceof HashSet
                        || value instanceof Hashtable
                        || value instanceof ConcurrentHashMap)
                && !parts.spliterator().hasCharacteristics(Spliterator.ORDERED);
    }

    /** Returns whether a class with a hash code is in a text; what looks like one may be the address of a user. */
    private boolean namesAnObject(Object value, String text) {
        return text.startsWith(value.getClass().getName() + "@")
                || text.contains("@" + ObjectUtils.getIdentityHexString(value))
                || ARRAY.matcher(text).find()
                || OBJECT.matcher(text).results().anyMatch(found -> isClass(found.group(1)));
    }

    /** Looks for the file: a class loader would keep each name for which it was asked, and these may be data. */
    private boolean isClass(String name) {
        String outermost = name.replaceFirst("(?<=\\w)\\$.*", "");
        // The look takes long, and most of what is no class is the name of a person.
        boolean isNamedLikeOne = Character.isUpperCase(outermost.charAt(outermost.lastIndexOf('.') + 1));
        return name.matches(".*\\$Proxy\\d+")
                || (isNamedLikeOne
                        && owner.targetClass().getResource("/" + outermost.replace('.', '/') + ".class") != null);
    }

    private IllegalArgumentException wrong(NamePart part, String problem, @Nullable Throwable cause) {
        return new IllegalArgumentException(
                "Lock name '" + part.template() + "' of " + owner + ": " + part.text() + " " + problem, cause);
    }

    /** A piece of a template: the text of an expression in <code>#{...}</code> with its meaning, or other text. */
    record NamePart(String text, @Nullable SpelExpression expression, String template, AtomicInteger interpreted) {

        private static final int CALLS_BEFORE_COMPILATION = NativeDetector.inNativeImage() ? 0 : 100;

        /** Types that change between calls, or while another thread compiles. */
        private static final Set<SpelMessage> MISFITS =
                Set.of(SpelMessage.EXCEPTION_COMPILING_EXPRESSION, SpelMessage.EXCEPTION_RUNNING_COMPILED_EXPRESSION);

        NamePart(String text, @Nullable SpelExpression expression, String template) {
            this(text, expression, template, new AtomicInteger());
            if (expression != null && isCalculating(expression.getAST())) {
                interpreted.set(CALLS_BEFORE_COMPILATION);
            }
        }

        /** Returns whether there is an operator: compiled for integers, it would cut other numbers to 32 bits. */
        private static boolean isCalculating(SpelNode node) {
            return node instanceof Operator
                    || IntStream.range(0, node.getChildCount()).anyMatch(child -> isCalculating(node.getChild(child)));
        }

        boolean isLiteral() {
            return expression == null;
        }

        String written() {
            return expression == null ? text : "#{" + expression.getExpressionString() + "}";
        }

        /** Evaluates; compiles after some calls, but never again after a misfit, where Spring would for ever. */
        @Nullable
        Object value(EvaluationContext context, Root call) {
            SpelExpression spel = Objects.requireNonNull(expression);
            try {
                if (interpreted.get() < CALLS_BEFORE_COMPILATION
                        && interpreted.incrementAndGet() == CALLS_BEFORE_COMPILATION) {
                    spel.compileExpression();
                }
                return spel.getValue(context, call);
            } catch (SpelEvaluationException failure) {
                if (!MISFITS.contains(failure.getMessageCode())) {
                    throw failure;
                }
            }
            spel.revertToInterpreted();
            return spel.getValue(context, call);
        }
    }
}
