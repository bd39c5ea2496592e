/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Resolves placeholders in the text attributes of the annotation. */
final class Placeholders {

    private final Function<String, @Nullable String> resolver;

    Placeholders(Function<String, @Nullable String> resolver) {
        this.resolver = resolver;
    }

    /**
     * Resolves the placeholders of an attribute.
     *
     * @param attribute the attribute's name, for the fault
     * @param text what is written
     * @param faults receives a placeholder without a value
     * @return the resolved text; null after a fault
     */
    @Nullable
    String resolve(String attribute, String text, Faults faults) {
        if (!text.contains("${")) {
            return text;
        }
        String reason = "'" + text + "' has a placeholder without a value";
        try {
            String resolved = resolver.apply(text);
            if (resolved == null) {
                return "";
            }
            // A lenient resolver leaves what it does not know; an escaped placeholder is meant as text.
            if (!resolved.contains("${") || text.contains("\\${")) {
                return resolved;
            }
        } catch (IllegalArgumentException unresolved) {
            reason = "'" + text + "' cannot be resolved (" + unresolved.getMessage() + ")";
        }
        faults.add(attribute, reason, "Set the property, or give a default as in ${some.property:default}");
        return null;
    }
}
