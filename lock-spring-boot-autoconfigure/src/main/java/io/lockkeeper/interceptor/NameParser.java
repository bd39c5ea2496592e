/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.interceptor.LockNames.NamePart;
import java.beans.Introspector;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.ResolvableType;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.FunctionReference;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.InlineMap;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.Selection;
import org.springframework.expression.spel.ast.TypeReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.ReflectivePropertyAccessor;
import org.springframework.util.ClassUtils;

/** Reads lock names and finds what is wrong with them. */
record NameParser(
        SpelExpressionParser parser,
        EvaluationContext context,
        MethodLockSpecs.AttributeReader attributes,
        Predicate<String> beans) {

    private static final String ATTRIBUTE = "name";
    private static final String WORD = "\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*";

    /** A path from a variable: in braces that lack the hash (the first group), or bare; its name is the next group. */
    private static final Pattern VARIABLE = Pattern.compile("\\{\\s*(#(" + WORD + ")[^{}]*?)\\s*}|#(" + WORD
            + ")(?:\\??\\." + WORD + "(?:\\([^()]*\\))?|\\[[^\\[\\]]*])*");

    private static final Pattern EXPRESSION = Pattern.compile("#\\{([^}]*)}");

    /** What is added to others: a text in quotes (the second group), or something simple (the third). */
    private static final Pattern OPERAND =
            Pattern.compile("(?:(['\"])([^'\"#]*)\\1|((?:[^'\"+()]|\\(\\))+?))\\s*(?:\\+\\s*|$)");

    /** A variable of an expression in the first group, or a text in it, which may look like one. */
    private static final Pattern IN_EXPRESSION = Pattern.compile("#(" + WORD + ")|'[^']*'|\"[^\"]*\"");

    /** Reads the names of a method; null after a fault. */
    @Nullable
    LockNames parse(AnnotatedMethod method, Faults faults) {
        String[] texts = method.annotation().name();
        String[] alias = method.annotation().value();
        if (alias.length > 0 && !Arrays.equals(alias, texts)) {
            faults.add("value", "says something else than name, of which it is another name", "Write only one of them");
        }
        ParameterNames parameters = ParameterNames.of(method);
        List<List<NamePart>> templates = new ArrayList<>(1);
        if (texts.length == 0) {
            String name = method.defaultName();
            templates.add(List.of(new NamePart(name, null, name)));
        }
        for (String text : texts) {
            String resolved = attributes.text(ATTRIBUTE, text, faults);
            List<NamePart> template = resolved == null ? null : parse(method, resolved, parameters, faults);
            if (template != null) {
                templates.add(template);
            }
        }
        return templates.size() < texts.length ? null : new LockNames(method, templates, context);
    }

    private @Nullable List<NamePart> parse(
            AnnotatedMethod method, String text, ParameterNames parameters, Faults faults) {
        int before = faults.found().size();
        List<NamePart> parts = List.of();
        if (text.isBlank()) {
            faults.add(ATTRIBUTE, "is blank", "Write a name, or leave it out for '" + method.defaultName() + "'");
        } else if (text.stripLeading().startsWith("'") || text.stripLeading().startsWith("\"")) {
            faults.add(
                    ATTRIBUTE,
                    text + " starts with a quote, as an expression does, but outside #{...} everything is text",
                    "Write " + inText(EXPRESSION.matcher(text).replaceAll("$1").strip()));
        } else {
            try {
                Expression parsed = parser.parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
                parts = Stream.of(
                                parsed instanceof CompositeStringExpression composite
                                        ? composite.getExpressions()
                                        : new Expression[] {parsed})
                        .map(part -> part(part, text, parameters, faults))
                        .toList();
                checkLiterals(text, parts, parameters, faults);
            } catch (ParseException unreadable) {
                faults.add(
                        ATTRIBUTE,
                        text + " cannot be read: " + unreadable.getSimpleMessage(),
                        "Write text with expressions in #{...}, as in order:#{#order.id}");
            }
        }
        return faults.found().size() == before ? parts : null;
    }

    /** Returns a sum of simple operands as text around expressions: in one expression, null would be a text. */
    private static String inText(String sum) {
        return sum.matches("(?:" + OPERAND + ")+")
                ? OPERAND.matcher(sum)
                        .replaceAll(found -> Matcher.quoteReplacement(
                                found.group(3) == null ? found.group(2) : "#{" + found.group(3) + "}"))
                : "#{" + sum + "}";
    }

    /** Checks an expression, and lets it read the parameters from the root of a call, which all else has in common. */
    private NamePart part(Expression part, String template, ParameterNames parameters, Faults faults) {
        String source = part.getExpressionString();
        if (!(part instanceof SpelExpression written)) {
            return new NamePart(source, null, template);
        }
        String text = "#{" + source + "}";
        new Check(text, parameters, this, faults).checkValue(written.getAST(), true);
        return new NamePart(text, parser.parseRaw(parameters.inRoot(source)), template);
    }

    private static void checkLiterals(String text, List<NamePart> parts, ParameterNames parameters, Faults faults) {
        String meant =
                LockNames.join(parts, part -> part.isLiteral() ? parameters.inExpressions(part.text()) : part.text());
        if (!meant.equals(LockNames.join(parts, NamePart::text))) {
            faults.add(
                    ATTRIBUTE, text + " names a parameter outside #{...}, where everything is text", "Write " + meant);
        }
    }

    /** Finds in a parsed expression what would be null, or fail, at every call. */
    record Check(String text, ParameterNames parameters, NameParser parser, Faults faults) {

        private static final Set<String> ROOT = Set.of("method", "args", "target", "targetClass");
        private static final Properties PROPERTIES = new Properties();

        /** Checks a node that is a value of its own, which the call as a whole cannot be: its text is no name. */
        void checkValue(SpelNode node, boolean inRoot) {
            String written = node.toStringAST();
            if (!(written.equals("#root") || (inRoot && written.equals("#this")))) {
                check(node, true, inRoot);
                return;
            }
            Integer index = parameters.indexes().get(written.substring(1));
            fault(
                    "uses " + written
                            + (index == null
                                    ? ", the call as a whole, whose text is another at each call"
                                    : ", which is not the parameter, but the call as a whole"),
                    index == null
                            ? "Write a part of it, as in #root.args[0] or #root.method.name"
                            : "Write #p" + index + " for the parameter");
        }

        /** Checks a node with its children; the flags say whether it begins a path, and on what: the root. */
        private void check(SpelNode node, boolean isFirst, boolean inRoot) {
            if (node instanceof VariableReference variable) {
                checkVariable(variable.toStringAST().substring(1));
            } else if (node instanceof FunctionReference) {
                fault(
                        node.toStringAST() + " calls a function, and there are none",
                        "Call a method of a bean, as in @bean.method(..)");
            } else if (node instanceof BeanReference) {
                String name = node.toStringAST().replaceAll("[@'\"]", "");
                if (!parser.beans().test(name)) {
                    fault("uses the bean '" + name + "', which does not exist", "Write the name of a bean");
                }
            } else if (node instanceof TypeReference type) {
                checkType(type);
            } else if (isFirst && inRoot && node instanceof PropertyOrFieldReference property) {
                if (!ROOT.contains(property.getName())) {
                    fault(
                            "uses '" + property.getName()
                                    + "' without '#', which is neither a parameter nor a property of #root",
                            "Write #" + property.getName() + " for a parameter; known are: " + parameters.listed());
                }
            } else if (isFirst && inRoot && node instanceof MethodReference method) {
                fault(
                        "calls " + method.getName() + "(..) on nothing",
                        "Call it on a parameter, on a bean as in @bean." + method.getName()
                                + "(..), or on #root.target");
            } else if (node instanceof CompoundExpression path) {
                checkPath(path);
            }
            boolean isInRoot = inRoot && !(node instanceof Projection || node instanceof Selection);
            for (int i = 0; i < node.getChildCount(); i++) {
                if (node instanceof CompoundExpression) {
                    check(node.getChild(i), i == 0, isInRoot);
                } else if (!isKey(node, i)) {
                    checkValue(node.getChild(i), isInRoot);
                }
            }
        }

        /** Follows a path from a parameter as long as the types on it can have no subtype, which might know more. */
        private void checkPath(CompoundExpression path) {
            @Nullable
            ResolvableType type = path.getChild(0) instanceof VariableReference variable
                    ? parameters.typeOf(variable.toStringAST().substring(1))
                    : ResolvableType.NONE;
            for (int i = 1; type != null && i < path.getChildCount(); i++) {
                if (path.getChild(i) instanceof Indexer) {
                    type = elementOf(type);
                    continue;
                }
                // Expressions box primitives, unwrap an Optional, and read static members of a class.
                Class<?> known = ClassUtils.resolvePrimitiveIfNecessary(type.resolve(Object.class));
                if (!Modifier.isFinal(known.getModifiers())
                        || known.isArray()
                        || known == Optional.class
                        || known == Class.class) {
                    return;
                }
                if (path.getChild(i) instanceof PropertyOrFieldReference property) {
                    type = PROPERTIES.typeOf(property.getName(), known);
                    if (type == null) {
                        missing(path, "property", property.getName(), known);
                    }
                } else if (path.getChild(i) instanceof MethodReference method) {
                    List<Method> named = Arrays.stream(known.getMethods())
                            .filter(each -> each.getName().equals(method.getName()))
                            .toList();
                    type = named.size() == 1 ? ResolvableType.forMethodReturnType(named.get(0)) : null;
                    if (named.isEmpty()) {
                        missing(path, "method", method.getName(), known);
                    }
                } else {
                    return;
                }
            }
        }

        private static ResolvableType elementOf(ResolvableType type) {
            if (type.isArray()) {
                return type.getComponentType();
            }
            ResolvableType map = type.asMap();
            return map.hasGenerics() ? map.getGeneric(1) : type.asCollection().getGeneric();
        }

        private void missing(CompoundExpression path, String kind, String name, Class<?> type) {
            Stream<String> names = Arrays.stream(type.getMethods())
                    .map(Method::getName)
                    .map(each -> each.matches("get[A-Z].*") ? Introspector.decapitalize(each.substring(3)) : each);
            boolean isRoot = type == LockNames.Root.class;
            Integer meant = isRoot ? parameters.indexes().get("root") : null;
            String known = isRoot
                    ? "#root.method, #root.args, #root.target or #root.targetClass, as in #root.method.name"
                    : "the name of a " + kind + " of " + type.getSimpleName();
            fault(
                    "uses " + path.toStringAST() + ", but " + type.getSimpleName() + " has no " + kind + " '" + name
                            + "'" + Faults.similar(name, names),
                    "Write " + (meant == null ? known : "#p" + meant + " for the parameter"));
        }

        /** What expressions can read of a type. */
        private static final class Properties extends ReflectivePropertyAccessor {

            /** Returns the type of a property; null: there is no such property. */
            @Nullable
            ResolvableType typeOf(String name, Class<?> type) {
                Method getter = findGetterForProperty(name, type, false);
                if (getter != null) {
                    return ResolvableType.forMethodReturnType(getter);
                }
                Field field = findField(name, type, false);
                return field == null ? null : ResolvableType.forField(field);
            }
        }

        /** A bare word in an index or before a colon is the key itself, not a property. */
        private static boolean isKey(SpelNode node, int child) {
            boolean keys = node instanceof Indexer || (node instanceof InlineMap && child % 2 == 0);
            return keys && node.getChild(child) instanceof PropertyOrFieldReference;
        }

        private void checkVariable(String name) {
            if (name.equals("root")
                    || name.equals("this")
                    || parameters.indexes().containsKey(name)) {
                return;
            }
            if (parameters.missing()) {
                fault(
                        "uses #" + name + ", but the class was compiled without the names of its parameters",
                        "Compile with -parameters (javac) or -java-parameters (kotlinc), or write #p0 for the first parameter");
            } else {
                fault("uses #" + name + ", which is no parameter", "Known are: " + parameters.listed());
            }
        }

        private void checkType(TypeReference type) {
            try {
                type.getValue(new ExpressionState(parser.context()));
            } catch (EvaluationException missing) {
                fault(
                        "uses " + type.toStringAST() + ", which is not on the class path",
                        "Write the full name of a class, as in T(java.time.LocalDate)");
            }
        }

        private void fault(String problem, String remedy) {
            faults.add(ATTRIBUTE, text + " " + problem, remedy);
        }
    }

    /** Under which names a method's expressions find its arguments; missing: it was compiled without such names. */
    record ParameterNames(Map<String, Integer> indexes, List<ResolvableType> types, boolean missing) {

        private static final ParameterNameDiscoverer DISCOVERER = new DefaultParameterNameDiscoverer();

        static ParameterNames of(AnnotatedMethod method) {
            int count = AnnotatedMethod.parameterCount(method.method());
            Map<String, Integer> indexes = new LinkedHashMap<>();
            for (Method named : List.of(method.declaration(), method.method())) {
                @Nullable String @Nullable [] names = DISCOVERER.getParameterNames(named);
                for (int i = 0; names != null && i < Math.min(names.length, count); i++) {
                    indexes.putIfAbsent(Objects.requireNonNullElse(names[i], "p" + i), i);
                }
            }
            boolean missing = count > 0 && indexes.isEmpty();
            for (int i = 0; i < count; i++) {
                indexes.putIfAbsent("p" + i, i);
                indexes.putIfAbsent("a" + i, i);
            }
            List<ResolvableType> types = IntStream.range(0, count)
                    .mapToObj(index -> ResolvableType.forMethodParameter(method.method(), index, method.targetClass()))
                    .toList();
            return new ParameterNames(indexes, types, missing);
        }

        /** Returns an expression with its parameters as elements of the array in the root. */
        String inRoot(String expression) {
            return IN_EXPRESSION.matcher(expression).replaceAll(found -> {
                Integer index = "root".equals(found.group(1)) ? null : indexes.get(found.group(1));
                return Matcher.quoteReplacement(index == null ? found.group() : "#root.args[" + index + "]");
            });
        }

        ResolvableType typeOf(String name) {
            if (name.equals("root")) {
                return ResolvableType.forClass(LockNames.Root.class);
            }
            Integer index = indexes.get(name);
            return index == null ? ResolvableType.NONE : types.get(index);
        }

        /** Returns a text with what names a parameter in it as expressions. */
        String inExpressions(String text) {
            return VARIABLE.matcher(text).replaceAll(found -> {
                String name = Objects.requireNonNullElse(found.group(2), found.group(3));
                String path = Objects.requireNonNullElse(found.group(1), found.group());
                // In braces also a misspelt one is meant.
                boolean isMeant = found.group(1) != null || isMeantAsVariable(name);
                return Matcher.quoteReplacement(isMeant ? "#{" + path + "}" : found.group());
            });
        }

        private boolean isMeantAsVariable(String name) {
            return name.equals("root") || indexes.containsKey(name) || (!types.isEmpty() && name.matches("[pa]\\d+"));
        }

        String listed() {
            return indexes.keySet().stream()
                    .map(name -> "#" + name)
                    .collect(Collectors.joining(", ", "", ", #root"))
                    .replaceFirst("^, ", "");
        }
    }
}
