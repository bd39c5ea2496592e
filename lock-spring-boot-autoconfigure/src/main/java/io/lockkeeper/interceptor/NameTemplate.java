/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
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
    record Island(String text, Expression expression) implements Part {}

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
            return island.expression().getValue(call);
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
