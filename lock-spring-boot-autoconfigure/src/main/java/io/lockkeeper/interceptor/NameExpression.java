/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NativeDetector;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelMessage;
import org.springframework.expression.spel.standard.SpelExpression;

/** A piece of a lock name: an expression in <code>#{...}</code>, or the text around it. */
final class NameExpression {

    private static final int CALLS_BEFORE_COMPILATION = 100;
    private static final int MOST_MISFITS = 3;

    private final String text;
    private final Expression expression;
    private volatile boolean compiled = NativeDetector.inNativeImage();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger misfits = new AtomicInteger();

    NameExpression(Expression expression) {
        String source = expression.getExpressionString();
        this.expression = expression;
        this.text = isLiteral() ? source : "#{" + source + "}";
    }

    /** Returns the piece as it is written. */
    String text() {
        return text;
    }

    Expression expression() {
        return expression;
    }

    /** Returns whether the piece is text, and the same at every call. */
    boolean isLiteral() {
        return expression instanceof LiteralExpression;
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
