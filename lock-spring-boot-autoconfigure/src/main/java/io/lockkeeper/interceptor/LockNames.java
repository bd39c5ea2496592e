/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;

/** The names that a method locks, prepared for its calls. */
final class LockNames {

    private final AnnotatedMethod owner;
    private final List<NameTemplate> templates;
    private final ParameterNames parameters;
    private final EvaluationContext shared;
    private final @Nullable List<String> constant;

    LockNames(
            AnnotatedMethod owner, List<NameTemplate> templates, ParameterNames parameters, EvaluationContext shared) {
        this.owner = owner;
        this.templates = templates;
        this.parameters = parameters;
        this.shared = shared;
        this.constant = templates.stream().allMatch(NameTemplate::isConstant) ? evaluate(shared) : null;
    }

    /** Returns the names, where they are the same at every call; null where they are not. */
    @Nullable
    List<String> constant() {
        return constant;
    }

    /**
     * Returns the names for a call.
     *
     * @param target the bean
     * @param args the arguments of the call
     * @throws IllegalArgumentException if an expression fails or has no value
     */
    List<String> of(@Nullable Object target, @Nullable Object[] args) {
        if (constant != null) {
            return constant;
        }
        NameRoot root = new NameRoot(owner.method(), args, target, owner.targetClass());
        return evaluate(new NameContext(shared, parameters.indexes(), root));
    }

    private List<String> evaluate(EvaluationContext call) {
        if (templates.size() == 1) {
            return templates.get(0).names(call);
        }
        List<String> names = new ArrayList<>(templates.size());
        templates.forEach(template -> names.addAll(template.names(call)));
        return names;
    }
}
