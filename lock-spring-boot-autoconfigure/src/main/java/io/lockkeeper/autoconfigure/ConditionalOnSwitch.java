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

/** Decided on bound values: each may be written in several ways, and an empty one is an unset one. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(ConditionalOnSwitch.OnSwitch.class)
@interface ConditionalOnSwitch {

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
                case ENABLED, DISABLED -> bound(values, "enabled", true) == (this == ENABLED);
                case PROXY, ASPECTJ -> bound(values, "mode", Mode.PROXY) == Mode.valueOf(name());
                case REDIS, MEMORY -> bound(values, "store", StoreType.REDIS) == StoreType.valueOf(name());
                case QUORUM ->
                    REDIS.isOn(values)
                            && !values.bind("lockkeeper.redis.quorum.nodes", Bindable.listOf(String.class))
                                    .orElse(List.of())
                                    .isEmpty();
            };
        }

        @SuppressWarnings("unchecked")
        private static <T> T bound(Binder values, String property, T unset) {
            return values.bind("lockkeeper." + property, (Class<T>) unset.getClass())
                    .orElse(unset);
        }
    }

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
