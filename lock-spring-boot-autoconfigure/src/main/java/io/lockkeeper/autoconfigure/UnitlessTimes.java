/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.boot.context.properties.bind.AbstractBindHandler;
import org.springframework.boot.context.properties.bind.BindContext;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.core.env.Environment;

/** Warns of times that are written without a unit, once they are bound and found to make sense. */
record UnitlessTimes(Environment environment) implements ConfigurationPropertiesBindHandlerAdvisor {

    private static final Logger log = LoggerFactory.getLogger(LockkeeperAutoConfiguration.class);
    private static final ConfigurationPropertyName PREFIX = ConfigurationPropertyName.of("lockkeeper");

    @Override
    public BindHandler apply(BindHandler next) {
        Set<String> found = new TreeSet<>();
        return new AbstractBindHandler(next) {
            @Override
            public @Nullable Object onSuccess(
                    ConfigurationPropertyName name, Bindable<?> target, BindContext context, Object result) {
                ConfigurationProperty written = context.getConfigurationProperty();
                if (result instanceof Duration time && !time.isZero() && written != null && PREFIX.isAncestorOf(name)) {
                    String text = environment.resolvePlaceholders(String.valueOf(written.getValue()));
                    if (text.matches("[+-]?\\d+")) {
                        found.add(name + ": " + text + " without a unit is " + text + " ms, write " + text + "s, or "
                                + text + "ms if that is meant");
                    }
                }
                return super.onSuccess(name, target, context, result);
            }

            @Override
            public void onFinish(
                    ConfigurationPropertyName name, Bindable<?> target, BindContext context, @Nullable Object result)
                    throws Exception {
                super.onFinish(name, target, context, result);
                if (name.equals(PREFIX)) {
                    found.forEach(log::warn);
                }
            }
        };
    }
}
