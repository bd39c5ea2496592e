/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.util.List;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches where masters of a quorum are named, in one value or in an element for each. */
final class OnQuorumNodes extends SpringBootCondition {

    private static final String PROPERTY = "lockkeeper.redis.quorum.nodes";

    @Override
    public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
        boolean named = !Binder.get(context.getEnvironment())
                .bind(PROPERTY, Bindable.listOf(String.class))
                .orElse(List.of())
                .isEmpty();
        ConditionMessage.Builder message = ConditionMessage.forCondition("quorum");
        return named
                ? ConditionOutcome.match(message.foundExactly(PROPERTY))
                : ConditionOutcome.noMatch(message.didNotFind(PROPERTY).atAll());
    }
}
