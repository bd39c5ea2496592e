/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Decides on values as they bind: the text of a property says less than what it means. */
final class OnSwitch extends SpringBootCondition {

    @Override
    public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
        Switch wanted = metadata.getAnnotations().get(ConditionalOnSwitch.class).getEnum("value", Switch.class);
        boolean on = wanted.isOn(Binder.get(context.getEnvironment()));
        return new ConditionOutcome(
                on,
                ConditionMessage.forCondition(ConditionalOnSwitch.class, wanted)
                        .because("the properties of lockkeeper " + (on ? "choose it" : "do not choose it")));
    }
}
