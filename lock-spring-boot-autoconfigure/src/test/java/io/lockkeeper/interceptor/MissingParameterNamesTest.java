/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MissingParameterNamesTest {

    private static final String SOURCE = """
            public class Nameless {
                @io.lockkeeper.annotation.DistributedLocked("order:#{#id}")
                public void byName(String id) {}

                @io.lockkeeper.annotation.DistributedLocked("order:#{#p0}")
                public void byPosition(String id) {}
            }
            """;

    private final SpecFixture fixture = new SpecFixture();

    @TempDir
    private Path directory;

    @Test
    void theUseOfAParameterNameIsAFaultThatSaysParameters() throws Exception {
        try (URLClassLoader loader = compiled()) {
            assertThat(fixture.faults(loader.loadClass("Nameless"), "byName"))
                    .singleElement()
                    .satisfies(fault -> {
                        assertThat(fault.problem())
                                .contains("uses #id", "compiled without the names of its parameters");
                        assertThat(fault.remedy()).contains("-parameters", "#p0");
                    });
        }
    }

    @Test
    void positionsWorkAllTheSame() throws Exception {
        try (URLClassLoader loader = compiled()) {
            Object bean = loader.loadClass("Nameless").getDeclaredConstructor().newInstance();
            assertThat(fixture.names(bean, "byPosition", "7")).containsExactly("order:7");
        }
    }

    private URLClassLoader compiled() throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileObject source =
                new SimpleJavaFileObject(URI.create("string:///Nameless.java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return SOURCE;
                    }
                };
        List<String> options =
                List.of("-proc:none", "-d", directory.toString(), "-cp", System.getProperty("java.class.path"));
        assertThat(compiler.getTask(null, null, null, options, null, List.of(source))
                        .call())
                .isTrue();
        return new URLClassLoader(
                new URL[] {directory.toUri().toURL()}, getClass().getClassLoader());
    }
}
