/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import io.lockkeeper.LockRequest;
import io.lockkeeper.interceptor.NameTemplate.Island;
import io.lockkeeper.interceptor.NameTemplate.Literal;
import io.lockkeeper.interceptor.NameTemplate.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.SpelCompilerMode;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** Reads lock names and finds what is wrong with them. */
final class NameParser {

    private static final String ATTRIBUTE = "name";
    private static final String WORD = "\\p{javaJavaIdentifierStart}\\p{javaJavaIdentifierPart}*";
    private static final Pattern VARIABLE = Pattern.compile("#(" + WORD + ")((?:\\??\\." + WORD + "(?:\\(\\))?)*)");

    /** An island without its hash. */
    private static final Pattern BRACED = Pattern.compile("\\{(#" + WORD + "[^{}]*)}");

    private static final Pattern ISLAND = Pattern.compile("#\\{([^}]*)}");

    private final SpelExpressionParser parser;
    private final EvaluationContext shared;
    private final Placeholders placeholders;
    private final Predicate<String> beans;

    NameParser(
            EvaluationContext shared,
            Placeholders placeholders,
            Predicate<String> beans,
            @Nullable ClassLoader classLoader) {
        this.shared = shared;
        this.placeholders = placeholders;
        this.beans = beans;
        // Islands compile themselves, after some calls.
        this.parser = new SpelExpressionParser(new SpelParserConfiguration(SpelCompilerMode.OFF, classLoader));
    }

    /**
     * Reads the names of a method.
     *
     * @param method the method
     * @param faults receives what is wrong
     * @return the names; null after a fault
     */
    @Nullable
    LockNames parse(AnnotatedMethod method, Faults faults) {
        String[] texts = method.annotation().name();
        String[] alias = method.annotation().value();
        if (alias.length > 0 && !Arrays.equals(alias, texts)) {
            faults.add("value", "says something else than name, of which it is another name", "Write only one of them");
        }
        ParameterNames parameters = ParameterNames.of(method);
        List<NameTemplate> templates = new ArrayList<>(1);
        if (texts.length == 0) {
            String name = method.defaultName();
            templates.add(new NameTemplate(method, name, List.of(new Literal(name))));
        }
        for (String text : texts) {
            String resolved = placeholders.resolve(ATTRIBUTE, text, faults);
            NameTemplate template = resolved == null ? null : parse(method, resolved, parameters, faults);
            if (template != null) {
                templates.add(template);
            }
        }
        if (templates.size() < texts.length) {
            return null;
        }
        LockNames names = new LockNames(method, List.copyOf(templates), parameters, shared);
        return isLockable(names.constant(), faults) ? names : null;
    }

    private static boolean isLockable(@Nullable List<String> constant, Faults faults) {
        try {
            return constant == null || LockRequest.of(constant).retryCount() == 0;
        } catch (IllegalArgumentException unfit) {
            faults.add(ATTRIBUTE, String.valueOf(unfit.getMessage()), "Choose another name");
            return false;
        }
    }

    private @Nullable NameTemplate parse(
            AnnotatedMethod method, String text, ParameterNames parameters, Faults faults) {
        if (text.isBlank()) {
            faults.add(ATTRIBUTE, "is blank", "Write a name, or leave it out for '" + method.defaultName() + "'");
            return null;
        }
        if (text.stripLeading().startsWith("'") || text.stripLeading().startsWith("\"")) {
            faults.add(
                    ATTRIBUTE,
                    text + " starts with a quote, as an expression does, but outside #{...} everything is text",
                    "Write #{" + ISLAND.matcher(text).replaceAll("$1").strip() + "}");
            return null;
        }
        List<Part> parts = split(text, faults);
        if (parts == null) {
            return null;
        }
        boolean sound = checkLiterals(text, parts, parameters, faults);
        for (Part part : parts) {
            if (part instanceof Island island) {
                sound &= checkIsland(island, parameters, faults);
            }
        }
        return sound ? new NameTemplate(method, text, parts) : null;
    }

    private @Nullable List<Part> split(String text, Faults faults) {
        Expression parsed;
        try {
            parsed = parser.parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
        } catch (ParseException unreadable) {
            faults.add(
                    ATTRIBUTE,
                    text + " cannot be read: " + unreadable.getSimpleMessage(),
                    "Write text with expressions in #{...}, as in order:#{#order.id}");
            return null;
        }
        Expression[] pieces = parsed instanceof CompositeStringExpression composite
                ? composite.getExpressions()
                : new Expression[] {parsed};
        List<Part> parts = new ArrayList<>(pieces.length);
        for (Expression piece : pieces) {
            String source = piece.getExpressionString();
            parts.add(
                    piece instanceof LiteralExpression ? new Literal(source) : new Island("#{" + source + "}", piece));
        }
        return parts;
    }

    private static boolean checkLiterals(String text, List<Part> parts, ParameterNames parameters, Faults faults) {
        for (Part part : parts) {
            Matcher variable = VARIABLE.matcher(part instanceof Literal literal ? literal.text() : "");
            while (variable.find()) {
                if (parameters.isMeantAsVariable(variable.group(1))) {
                    faults.add(
                            ATTRIBUTE,
                            text + " names #" + variable.group(1) + " outside #{...}, where everything is text",
                            "Write "
                                    + parts.stream()
                                            .map(each -> asIslands(each, parameters))
                                            .collect(Collectors.joining()));
                    return false;
                }
            }
        }
        return true;
    }

    private static String asIslands(Part part, ParameterNames parameters) {
        return part instanceof Literal literal
                ? VARIABLE.matcher(BRACED.matcher(literal.text()).replaceAll("$1"))
                        .replaceAll(found -> Matcher.quoteReplacement(
                                parameters.isMeantAsVariable(found.group(1))
                                        ? "#{" + found.group() + "}"
                                        : found.group()))
                : ((Island) part).text();
    }

    private boolean checkIsland(Island island, ParameterNames parameters, Faults faults) {
        int before = faults.found().size();
        if (island.expression() instanceof SpelExpression expression) {
            new IslandCheck(island.text(), parameters, beans, faults).check(expression.getAST());
        }
        return faults.found().size() == before;
    }
}
