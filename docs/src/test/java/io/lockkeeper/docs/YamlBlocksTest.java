/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.autoconfigure.LockkeeperProperties;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.ByteArrayResource;

/** Every block of YAML in the documentation has only properties that exist, and those of Lockkeeper bind. */
class YamlBlocksTest {

    static Stream<CodeBlock> blocks() throws IOException {
        return CodeBlock.in("yaml").stream();
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void binds(CodeBlock block) throws IOException {
        Set<String> known = ConfigurationMetadata.everywhere().names();
        ByteArrayResource text = new ByteArrayResource(block.text().getBytes(StandardCharsets.UTF_8));
        for (PropertySource<?> source : new YamlPropertySourceLoader().load(block.place(), text)) {
            assertThat(((EnumerablePropertySource<?>) source).getPropertyNames())
                    .as(block.place())
                    .isNotEmpty()
                    .allSatisfy(name -> assertThat(known).contains(name.replaceAll("\\[\\d+]", "")));
            new Binder(ConfigurationPropertySources.from(source))
                    .bindOrCreate("lockkeeper", LockkeeperProperties.class);
        }
    }
}
