/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What libraries on the class path say of their configuration properties. */
record ConfigurationMetadata(List<Property> properties) {

    private static final String PLACE = "META-INF/spring-configuration-metadata.json";

    /**
     * A property.
     *
     * @param name its name
     * @param type the name of its class
     * @param description what it is for
     * @param defaultValue what it is unless set; null: nothing
     */
    record Property(
            String name,
            String type,
            String description,
            @Nullable String defaultValue) {}

    /** Returns the properties of all libraries. */
    static ConfigurationMetadata everywhere() throws IOException {
        List<Property> found = new ArrayList<>();
        for (URL place :
                Collections.list(ConfigurationMetadata.class.getClassLoader().getResources(PLACE))) {
            try (InputStream text = place.openStream()) {
                JsonMapper.shared().readTree(text).path("properties").forEach(node -> found.add(property(node)));
            }
        }
        return new ConfigurationMetadata(found);
    }

    private static Property property(JsonNode node) {
        JsonNode value = node.path("defaultValue");
        return new Property(
                node.path("name").asString(),
                node.path("type").asString(""),
                node.path("description").asString(""),
                value.isMissingNode() ? null : value.isContainer() ? value.toString() : value.asString());
    }

    Set<String> names() {
        return properties.stream().map(Property::name).collect(Collectors.toSet());
    }

    /** Returns the properties of Lockkeeper, each once, in the order of their names. */
    List<Property> ours() {
        return properties.stream()
                .filter(property -> property.name().startsWith("lockkeeper.")
                        || property.name().startsWith("management.endpoint.locks.")
                        || property.name().startsWith("management.health.lockkeeper."))
                .sorted(Comparator.comparing(Property::name))
                .toList();
    }
}
