/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.interceptor.LockNames.NameExpression;
import io.lockkeeper.interceptor.LockNames.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/** Reads lock names and finds what is wrong with them. */
record NameParser(
        SpelExpressionParser parser,
        StandardEvaluationContext shared,
        AttributeReader attributes,
        Predicate<String> beans) {

    private static final String ATTRIBUTE = "name";
    private static final String WORD = "\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*";
    private static final Pattern VARIABLE = Pattern.compile("#(" + WORD + ")((?:\\??\\." + WORD + "(?:\\(\\))?)*)");

    /** An expression without its hash. */
    private static final Pattern BRACED = Pattern.compile("\\{(#" + WORD + "[^{}]*)}");

    private static final Pattern EXPRESSION = Pattern.compile("#\\{([^}]*)}");

    /** Reads the names of a method; null after a fault. */
    @Nullable
    LockNames parse(AnnotatedMethod method, Faults faults) {
        String[] texts = method.annotation().name();
        String[] alias = method.annotation().value();
        if (alias.length > 0 && !Arrays.equals(alias, texts)) {
            faults.add("value", "says something else than name, of which it is another name", "Write only one of them");
        }
        ParameterNames parameters = ParameterNames.of(method);
        List<Template> templates = new ArrayList<>(1);
        if (texts.length == 0) {
            String name = method.defaultName();
            templates.add(new Template(name, List.of(new NameExpression(new LiteralExpression(name)))));
        }
        for (String text : texts) {
            String resolved = attributes.text(ATTRIBUTE, text, faults);
            Template template = resolved == null ? null : parse(method, resolved, parameters, faults);
            if (template != null) {
                templates.add(template);
            }
        }
        return templates.size() < texts.length
                ? null
                : new LockNames(method, List.copyOf(templates), parameters, shared);
    }

    private @Nullable Template parse(AnnotatedMethod method, String text, ParameterNames parameters, Faults faults) {
        int before = faults.found().size();
        List<NameExpression> parts = List.of();
        if (text.isBlank()) {
            faults.add(ATTRIBUTE, "is blank", "Write a name, or leave it out for '" + method.defaultName() + "'");
        } else if (text.stripLeading().startsWith("'") || text.stripLeading().startsWith("\"")) {
            faults.add(
                    ATTRIBUTE,
                    text + " starts with a quote, as an expression does, but outside #{...} everything is text",
                    "Write #{" + EXPRESSION.matcher(text).replaceAll("$1").strip() + "}");
        } else {
            parts = split(text, faults);
            checkLiterals(text, parts, parameters, faults);
            for (NameExpression part : parts) {
                if (part.expression() instanceof SpelExpression expression) {
                    new NameExpressionCheck(part.text(), parameters, beans, faults)
                            .check(expression.getAST(), true, true);
                }
            }
        }
        return faults.found().size() == before ? new Template(text, parts) : null;
    }

    private List<NameExpression> split(String text, Faults faults) {
        try {
            Expression parsed = parser.parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
            return Stream.of(
                            parsed instanceof CompositeStringExpression composite
                                    ? composite.getExpressions()
                                    : new Expression[] {parsed})
                    .map(NameExpression::new)
                    .toList();
        } catch (ParseException unreadable) {
            faults.add(
                    ATTRIBUTE,
                    text + " cannot be read: " + unreadable.getSimpleMessage(),
                    "Write text with expressions in #{...}, as in order:#{#order.id}");
            return List.of();
        }
    }

    private static void checkLiterals(
            String text, List<NameExpression> parts, ParameterNames parameters, Faults faults) {
        parts.stream()
                .filter(NameExpression::isLiteral)
                .flatMap(part -> VARIABLE.matcher(part.text()).results())
                .map(variable -> variable.group(1))
                .filter(parameters::isMeantAsVariable)
                .findFirst()
                .ifPresent(name -> faults.add(
                        ATTRIBUTE,
                        text + " names #" + name + " outside #{...}, where everything is text",
                        "Write "
                                + parts.stream()
                                        .map(part -> asExpressions(part, parameters))
                                        .collect(Collectors.joining())));
    }

    private static String asExpressions(NameExpression part, ParameterNames parameters) {
        return part.isLiteral()
                ? VARIABLE.matcher(BRACED.matcher(part.text()).replaceAll("$1"))
                        .replaceAll(found -> Matcher.quoteReplacement(
                                parameters.isMeantAsVariable(found.group(1))
                                        ? "#{" + found.group() + "}"
                                        : found.group()))
                : part.text();
    }
}
