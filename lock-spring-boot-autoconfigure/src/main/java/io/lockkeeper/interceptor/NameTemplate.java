/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NativeDetector;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelMessage;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.util.ObjectUtils;

/**
 * A lock name as it is written: text and expressions in turn.
 *
 * @param owner the method, for messages
 * @param text what is written
 * @param parts what it consists of; at least one
 */
record NameTemplate(AnnotatedMethod owner, String text, List<Part> parts) {

    /** A piece of a name. */
    sealed interface Part {}

    /** A piece that is the same at every call. */
    record Literal(String text) implements Part {}

    /** A piece that is evaluated at every call. */
    static final class Island implements Part {

        private static final boolean COMPILES = !NativeDetector.inNativeImage();
        private static final int CALLS_BEFORE_COMPILATION = 100;
        private static final int MOST_MISFITS = 3;

        private final String text;
        private final Expression expression;
        private volatile boolean compiled = !COMPILES;
        private final AtomicInteger calls = new AtomicInteger();
        private final AtomicInteger misfits = new AtomicInteger();

        Island(String text, Expression expression) {
            this.text = text;
            this.expression = expression;
        }

        String text() {
            return text;
        }

        Expression expression() {
            return expression;
        }

        /**
         * Evaluates the expression, which is compiled after some calls: that halves the time and the garbage of a call.
         * Compiled code fits the types of its first calls only, and each piece of it is a class: after some calls of other
         * types the expression is never compiled again, where Spring would compile it for ever.
         */
        @Nullable
        Object value(EvaluationContext call) {
            if (!(expression instanceof SpelExpression spel)) {
                return expression.getValue(call);
            }
            if (!compiled && calls.incrementAndGet() >= CALLS_BEFORE_COMPILATION) {
                compiled = true;
                spel.compileExpression();
            }
            try {
                return spel.getValue(call);
            } catch (SpelEvaluationException failure) {
                if (failure.getMessageCode() != SpelMessage.EXCEPTION_RUNNING_COMPILED_EXPRESSION) {
                    throw failure;
                }
            }
            spel.revertToInterpreted();
            calls.set(0);
            compiled = misfits.incrementAndGet() >= MOST_MISFITS;
            return spel.getValue(call);
        }
    }

    /** Returns whether the name is the same at every call. */
    boolean isConstant() {
        return parts.stream().allMatch(Literal.class::isInstance);
    }

    /** Returns the names that this template gives for a call. */
    List<String> names(EvaluationContext call) {
        List<String> beginnings = List.of("");
        for (Part part : parts) {
            List<String> next = part instanceof Island island ? values(island, call) : List.of(((Literal) part).text());
            beginnings = combine(beginnings, next);
        }
        return beginnings;
    }

    private static List<String> combine(List<String> beginnings, List<String> endings) {
        if (beginnings.size() == 1 && endings.size() == 1) {
            String beginning = beginnings.get(0);
            return beginning.isEmpty() ? endings : List.of(beginning.concat(endings.get(0)));
        }
        List<String> combined = new ArrayList<>(beginnings.size() * endings.size());
        for (String beginning : beginnings) {
            for (String ending : endings) {
                combined.add(beginning + ending);
            }
        }
        return combined;
    }

    private List<String> values(Island island, EvaluationContext call) {
        Object value = evaluate(island, call);
        if (value instanceof Optional<?> optional) {
            value = optional.orElse(null);
        }
        Collection<?> elements = null;
        if (value instanceof Collection<?> collection) {
            elements = collection;
        } else if (ObjectUtils.isArray(value)) {
            elements = Arrays.asList(ObjectUtils.toObjectArray(value));
        }
        if (elements == null) {
            return List.of(text(island, value));
        }
        if (elements.isEmpty()) {
            throw wrong(island, "is empty, and gives no lock name", null);
        }
        List<String> texts = new ArrayList<>(elements.size());
        for (Object element : elements) {
            texts.add(text(island, element));
        }
        return texts;
    }

    private @Nullable Object evaluate(Island island, EvaluationContext call) {
        try {
            return island.value(call);
        } catch (EvaluationException failure) {
            throw wrong(island, "cannot be evaluated: " + failure.getMessage(), failure);
        }
    }

    private String text(Island island, @Nullable Object value) {
        if (value == null) {
            throw wrong(island, "is null", null);
        }
        String valueText = value.toString();
        if (valueText == null || valueText.isBlank()) {
            throw wrong(island, "is blank", null);
        }
        if (valueText.startsWith(value.getClass().getName() + "@")) {
            throw wrong(
                    island,
                    "is an object of " + value.getClass() + " without a text of its own, which would be another lock on"
                            + " every machine: name a property of it",
                    null);
        }
        return valueText;
    }

    private IllegalArgumentException wrong(Island island, String problem, @Nullable Throwable cause) {
        return new IllegalArgumentException(
                "Lock name '" + text + "' of " + owner + ": " + island.text() + " " + problem, cause);
    }
}
