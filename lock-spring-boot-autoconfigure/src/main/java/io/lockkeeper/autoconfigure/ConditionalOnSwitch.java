/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches where the properties choose something. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(ConditionalOnSwitch.OnSwitch.class)
@interface ConditionalOnSwitch {

    /** What must be chosen. */
    Switch value();

    /** Decides on values as they bind: the text of a property says less than what it means. */
    final class OnSwitch extends SpringBootCondition {

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Switch wanted =
                    metadata.getAnnotations().get(ConditionalOnSwitch.class).getEnum("value", Switch.class);
            boolean on = wanted.isOn(Binder.get(context.getEnvironment()));
            return new ConditionOutcome(
                    on,
                    ConditionMessage.forCondition(ConditionalOnSwitch.class, wanted)
                            .because("the properties of lockkeeper " + (on ? "choose it" : "do not choose it")));
        }
    }
}
