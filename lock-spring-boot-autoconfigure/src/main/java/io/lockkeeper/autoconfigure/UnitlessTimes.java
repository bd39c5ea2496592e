/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
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
        Map<ConfigurationPropertyName, String> found = new TreeMap<>();
        return new AbstractBindHandler(next) {
            @Override
            public @Nullable Object onSuccess(
                    ConfigurationPropertyName name, Bindable<?> target, BindContext context, Object result) {
                ConfigurationProperty written = context.getConfigurationProperty();
                if (result instanceof Duration time && !time.isZero() && written != null && PREFIX.isAncestorOf(name)) {
                    String text = environment.resolvePlaceholders(String.valueOf(written.getValue()));
                    if (text.matches("[+-]?\\d+")) {
                        found.put(name, text);
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
                    for (Map.Entry<ConfigurationPropertyName, String> time : found.entrySet()) {
                        log.warn(
                                "{}: {} without a unit is {} ms, write {}s, or {}ms if that is meant",
                                time.getKey(),
                                time.getValue(),
                                time.getValue(),
                                time.getValue(),
                                time.getValue());
                    }
                }
            }
        };
    }
}
