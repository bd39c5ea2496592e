/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.LockkeeperProperties.Mode;
import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Matches where the properties choose something. Decided on bound values, as in {@link LockkeeperProperties}: a value may
 * be written in several ways, an empty one is an unset one, and one that does not bind stops the start.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(ConditionalOnSwitch.OnSwitch.class)
@interface ConditionalOnSwitch {

    /** What must be chosen. */
    Switch value();

    /** What the properties choose; quorum: masters are named, in one value or in an element for each. */
    enum Switch {
        ENABLED,
        DISABLED,
        PROXY,
        ASPECTJ,
        REDIS,
        QUORUM,
        MEMORY;

        boolean isOn(Binder values) {
            return switch (this) {
                case ENABLED -> isEnabled(values);
                case DISABLED -> !isEnabled(values);
                case PROXY -> mode(values) == Mode.PROXY;
                case ASPECTJ -> mode(values) == Mode.ASPECTJ;
                case REDIS -> store(values) == StoreType.REDIS;
                case QUORUM -> store(values) == StoreType.REDIS && hasNodes(values);
                case MEMORY -> store(values) == StoreType.MEMORY;
            };
        }

        private static boolean isEnabled(Binder values) {
            return values.bind("lockkeeper.enabled", Boolean.class).orElse(true);
        }

        private static boolean hasNodes(Binder values) {
            return !values.bind("lockkeeper.redis.quorum.nodes", Bindable.listOf(String.class))
                    .orElse(List.of())
                    .isEmpty();
        }

        private static Mode mode(Binder values) {
            return values.bind("lockkeeper.mode", Mode.class).orElse(Mode.PROXY);
        }

        private static StoreType store(Binder values) {
            return values.bind("lockkeeper.store", StoreType.class).orElse(StoreType.REDIS);
        }
    }

    /** The condition. */
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
