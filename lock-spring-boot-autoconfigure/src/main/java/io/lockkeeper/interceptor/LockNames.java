/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.util.ObjectUtils;

/**
 * The names that a method locks, prepared for its calls.
 *
 * @param owner the method
 * @param templates the names as they are written; at least one
 * @param parameters the arguments by name
 * @param shared what the evaluations of all calls share
 */
record LockNames(AnnotatedMethod owner, List<Template> templates, ParameterNames parameters, EvaluationContext shared) {

    private static final Pattern VARIABLE =
            Pattern.compile("#(\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*)");

    /**
     * A name as it is written.
     *
     * @param text what is written
     * @param parts text and expressions in turn; at least one
     */
    record Template(String text, List<NameExpression> parts) {}

    /** Returns whether the names are the same at every call. */
    boolean isConstant() {
        for (Template template : templates) {
            for (NameExpression part : template.parts()) {
                if (!part.isLiteral()) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * Returns the names as they are written, but each parameter by its position: alike in methods that name them
     * otherwise.
     */
    List<String> written() {
        return templates.stream()
                .map(template -> VARIABLE.matcher(template.text()).replaceAll(variable -> {
                    Integer index = parameters.indexes().get(variable.group(1));
                    return Matcher.quoteReplacement(index == null ? variable.group() : "#p" + index);
                }))
                .toList();
    }

    /** Returns the names for a call; an IllegalArgumentException says which expression failed or has no value. */
    List<String> of(@Nullable Object target, @Nullable Object[] args) {
        NameContext call = new NameContext(
                shared, parameters.indexes(), new NameContext.Root(owner.method(), args, target, owner.targetClass()));
        if (templates.size() == 1) {
            return names(templates.get(0), call);
        }
        List<String> names = new ArrayList<>(templates.size());
        for (Template template : templates) {
            names.addAll(names(template, call));
        }
        return names;
    }

    private List<String> names(Template template, EvaluationContext call) {
        List<String> beginnings = List.of("");
        for (NameExpression part : template.parts()) {
            beginnings = combine(beginnings, part.isLiteral() ? List.of(part.text()) : values(template, part, call));
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
            endings.forEach(ending -> combined.add(beginning + ending));
        }
        return combined;
    }

    private List<String> values(Template template, NameExpression part, EvaluationContext call) {
        Object value;
        try {
            value = part.value(call);
        } catch (EvaluationException failure) {
            throw wrong(template, part, "cannot be evaluated: " + failure.getMessage(), failure);
        }
        if (value instanceof Optional<?> optional) {
            value = optional.orElse(null);
        }
        if (!(value instanceof Collection) && !ObjectUtils.isArray(value)) {
            return List.of(text(template, part, value));
        }
        Collection<?> elements = value instanceof Collection<?> collection
                ? collection
                : Arrays.asList(ObjectUtils.toObjectArray(value));
        if (elements.isEmpty()) {
            throw wrong(template, part, "is empty, and gives no lock name", null);
        }
        List<String> texts = new ArrayList<>(elements.size());
        elements.forEach(element -> texts.add(text(template, part, element)));
        return texts;
    }

    private String text(Template template, NameExpression part, @Nullable Object value) {
        String text = value == null ? null : value.toString();
        if (value == null) {
            throw wrong(template, part, "is null", null);
        }
        if (text == null || text.isBlank()) {
            throw wrong(template, part, "is blank", null);
        }
        if (text.startsWith(value.getClass().getName() + "@")) {
            throw wrong(
                    template,
                    part,
                    "is an object of " + value.getClass() + " without a text of its own, which would be another lock on"
                            + " every machine: name a property of it",
                    null);
        }
        return text;
    }

    private IllegalArgumentException wrong(
            Template template, NameExpression part, String problem, @Nullable Throwable cause) {
        return new IllegalArgumentException(
                "Lock name '" + template.text() + "' of " + owner + ": " + part.text() + " " + problem, cause);
    }
}
