/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NativeDetector;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.ConstructorResolver;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.IndexAccessor;
import org.springframework.expression.MethodResolver;
import org.springframework.expression.OperatorOverloader;
import org.springframework.expression.PropertyAccessor;
import org.springframework.expression.TypeComparator;
import org.springframework.expression.TypeConverter;
import org.springframework.expression.TypeLocator;
import org.springframework.expression.TypedValue;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelMessage;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.util.ObjectUtils;

/** The names that a method locks, at least one, prepared for its calls; shared: what the evaluations of all calls share. */
record LockNames(
        AnnotatedMethod owner, List<Template> templates, Map<String, Integer> indexes, EvaluationContext shared) {

    private static final Pattern VARIABLE =
            Pattern.compile("#(\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*)");

    record Template(String text, List<NameExpression> parts) {}

    /** What expressions see as {@code #root}: the method and the class are those of the bean, not of its proxy. */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record Root(
            Method method,
            @Nullable Object[] args,
            @Nullable Object target,
            Class<?> targetClass) {}

    /** The arguments of one call as variables. A context of Spring's own would add 136 bytes to each call. */
    private record Call(EvaluationContext shared, Map<String, Integer> indexes, Root root)
            implements EvaluationContext {

        @Override
        public TypedValue getRootObject() {
            return new TypedValue(root);
        }

        @Override
        public @Nullable Object lookupVariable(String name) {
            Integer index = indexes.get(name);
            return index == null ? null : root.args()[index];
        }

        @Override
        public void setVariable(String name, @Nullable Object value) {
            throw new UnsupportedOperationException("An expression in a lock name must not assign variables");
        }

        @Override
        public boolean isAssignmentEnabled() {
            return false;
        }

        @Override
        public List<PropertyAccessor> getPropertyAccessors() {
            return shared.getPropertyAccessors();
        }

        @Override
        public List<IndexAccessor> getIndexAccessors() {
            return shared.getIndexAccessors();
        }

        @Override
        public List<ConstructorResolver> getConstructorResolvers() {
            return shared.getConstructorResolvers();
        }

        @Override
        public List<MethodResolver> getMethodResolvers() {
            return shared.getMethodResolvers();
        }

        @Override
        public @Nullable BeanResolver getBeanResolver() {
            return shared.getBeanResolver();
        }

        @Override
        public TypeLocator getTypeLocator() {
            return shared.getTypeLocator();
        }

        @Override
        public TypeConverter getTypeConverter() {
            return shared.getTypeConverter();
        }

        @Override
        public TypeComparator getTypeComparator() {
            return shared.getTypeComparator();
        }

        @Override
        public OperatorOverloader getOperatorOverloader() {
            return shared.getOperatorOverloader();
        }
    }

    boolean isConstant() {
        return templates.stream().allMatch(template -> template.parts().stream().allMatch(NameExpression::isLiteral));
    }

    /** Returns the names as they are written, but each parameter by its position, whatever a method calls it. */
    List<String> written() {
        return templates.stream()
                .map(template -> VARIABLE.matcher(template.text()).replaceAll(variable -> {
                    Integer index = indexes.get(variable.group(1));
                    return Matcher.quoteReplacement(index == null ? variable.group() : "#p" + index);
                }))
                .toList();
    }

    /** Returns the names for a call; an IllegalArgumentException says which expression failed or has no value. */
    List<String> of(@Nullable Object target, @Nullable Object[] args) {
        Call call = new Call(shared, indexes, new Root(owner.method(), args, target, owner.targetClass()));
        if (templates.size() == 1) {
            return names(templates.get(0), call);
        }
        List<String> names = new ArrayList<>(templates.size());
        templates.forEach(template -> names.addAll(names(template, call)));
        return names;
    }

    private List<String> names(Template template, Call call) {
        // Every call comes through here: a name is made without lists as long as no expression has several values.
        String name = "";
        List<String> several = null;
        for (int i = 0; i < template.parts().size(); i++) {
            NameExpression part = template.parts().get(i);
            Object value = part.isLiteral() ? part.text() : value(template, part, call);
            boolean isSeveral = value instanceof Collection || ObjectUtils.isArray(value);
            String text = isSeveral ? "" : part.isLiteral() ? part.text() : text(template, part, value);
            if (!isSeveral && several == null) {
                name = name.isEmpty() ? text : name.concat(text);
            } else {
                List<String> endings = isSeveral ? texts(template, part, value) : List.of(text);
                several = (several == null ? Stream.of(name) : several.stream())
                        .flatMap(beginning -> endings.stream().map(beginning::concat))
                        .toList();
            }
        }
        return several == null ? List.of(name) : several;
    }

    private @Nullable Object value(Template template, NameExpression part, Call call) {
        try {
            Object value = part.value(call);
            return value instanceof Optional<?> optional ? optional.orElse(null) : value;
        } catch (EvaluationException failure) {
            throw wrong(template, part, "cannot be evaluated: " + failure.getMessage(), failure);
        }
    }

    private List<String> texts(Template template, NameExpression part, @Nullable Object value) {
        Object[] elements =
                value instanceof Collection<?> collection ? collection.toArray() : ObjectUtils.toObjectArray(value);
        if (elements.length == 0) {
            throw wrong(template, part, "is empty, and gives no lock name", null);
        }
        return Arrays.stream(elements)
                .map(element -> text(template, part, element))
                .toList();
    }

    private String text(Template template, NameExpression part, @Nullable Object value) {
        String text = value == null ? null : value.toString();
        if (value == null || text == null || text.isBlank()) {
            throw wrong(template, part, value == null ? "is null" : "is blank", null);
        }
        String type = value.getClass().getName();
        if (text.startsWith(type) && text.startsWith("@", type.length())) {
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

    /** A piece of a lock name: an expression in <code>#{...}</code>, or the text around it. */
    record NameExpression(Expression expression, AtomicInteger interpreted) {

        private static final int CALLS_BEFORE_COMPILATION = NativeDetector.inNativeImage() ? 0 : 100;

        NameExpression(Expression expression) {
            this(expression, new AtomicInteger());
        }

        boolean isLiteral() {
            return expression instanceof LiteralExpression;
        }

        String text() {
            String source = expression.getExpressionString();
            return isLiteral() ? source : "#{" + source + "}";
        }

        /** Evaluates; compiles after some calls, but never again after a misfit, where Spring would for ever. */
        @Nullable
        Object value(Call call) {
            if (!(expression instanceof SpelExpression spel)) {
                return expression.getValue(call);
            }
            if (interpreted.get() < CALLS_BEFORE_COMPILATION
                    && interpreted.incrementAndGet() == CALLS_BEFORE_COMPILATION) {
                spel.compileExpression();
            }
            try {
                return spel.getValue(call, call.root());
            } catch (SpelEvaluationException failure) {
                if (failure.getMessageCode() != SpelMessage.EXCEPTION_RUNNING_COMPILED_EXPRESSION) {
                    throw failure;
                }
            }
            spel.revertToInterpreted();
            return spel.getValue(call, call.root());
        }
    }
}
