/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.docs.ConfigurationMetadata.Property;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.util.ClassUtils;

/**
 * The reference of all properties says what their metadata say. With -Dlockkeeper.docs.write=true it is written anew.
 */
class ConfigurationReferenceTest {

    private static final String HEAD = """
            # Configuration

            A value out of range stops the start with one sentence that says what to change: a negative time, zero where a time
            is needed, a lease under a second, polls that are longer than the lease, an even quorum.

            A time without a unit is in milliseconds, and the start warns of it: write `30s` for 30 seconds.

            Values may be written as everywhere in Spring Boot: `aspect-j` or `ASPECTJ`, `off` or `FALSE`; blanks around a value
            are ignored, except around times. An empty property, as from an empty variable of a compose file, counts as not set,
            except for the key prefix. A value that cannot be converted stops the start.

            | property | type | default | |
            |---|---|---|---|
            """;

    private static final String FOOT = """

            The connection to Redis is that of `spring.data.redis.*`: [the guide](guide.md#add-it) has more.

            This page is generated from the metadata that your editor reads, too:
            `./mvnw -pl docs -am verify -Dtest=ConfigurationReferenceTest -Dlockkeeper.docs.write=true
            -Dsurefire.failIfNoSpecifiedTests=false`
            """;

    @Test
    void isWhatTheMetadataSay() throws IOException {
        String expected = ConfigurationMetadata.everywhere().ours().stream()
                .map(ConfigurationReferenceTest::row)
                .collect(Collectors.joining("", HEAD, FOOT));
        Path page = Pages.project().resolve("docs/configuration.md");
        if (Boolean.getBoolean("lockkeeper.docs.write")) {
            Files.writeString(page, expected);
        }
        assertThat(page).hasContent(expected);
    }

    private static String row(Property property) {
        String value = property.defaultValue();
        return "| `%s` | %s | %s | %s |\n"
                .formatted(
                        property.name(),
                        type(property.type()),
                        value == null ? "" : "`" + value + "`",
                        property.description());
    }

    /** Returns the simple name of a type; of an enumeration the values, as they are written in a file. */
    private static String type(String name) {
        Class<?> type = ClassUtils.isPresent(name, null) ? ClassUtils.resolveClassName(name, null) : Object.class;
        return type.isEnum()
                ? Arrays.stream(type.getEnumConstants())
                        .map(value ->
                                "`" + value.toString().toLowerCase(Locale.ROOT).replace('_', '-') + "`")
                        .collect(Collectors.joining(", "))
                : name.replaceAll("[\\w.]+[.$]", "").replace("<", "&lt;").replace(">", "&gt;");
    }
}
