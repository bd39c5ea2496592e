/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every block of Java in the documentation compiles against the library as it is. */
class JavaBlocksTest {

    private static final Pattern TYPE =
            Pattern.compile("(?m)^\\s*(public |abstract |final )*(class|record|interface|@interface) ");

    private static final String FRAGMENT = """
            class Fragment {
                LockTemplate lockTemplate;
                Warehouse warehouse;

                void run(String product) throws Exception {
            %s
                }
            }
            """;

    @TempDir
    private Path classes;

    static Stream<CodeBlock> blocks() throws IOException {
        return CodeBlock.in("java").stream();
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void compiles(CodeBlock block) throws IOException {
        StringWriter messages = new StringWriter();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        boolean compiled = compiler.getTask(
                        messages,
                        null,
                        null,
                        List.of(
                                "-d",
                                classes.toString(),
                                "-proc:none",
                                "-parameters",
                                "-classpath",
                                System.getProperty("java.class.path")),
                        null,
                        List.of(source(block)))
                .call();
        assertThat(compiled).as(block.place() + "\n" + messages).isTrue();
    }

    /** What the pages leave out. */
    private static String imports() throws IOException {
        try (InputStream text = Objects.requireNonNull(JavaBlocksTest.class.getResourceAsStream("imports.txt"))) {
            return new String(text.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static JavaFileObject source(CodeBlock block) throws IOException {
        // Bodies that the page leaves out
        String code = block.text().replace("{ ... }", "{ throw new UnsupportedOperationException(); }");
        String unit = imports() + (TYPE.matcher(code).find() ? code : FRAGMENT.replace("%s", code));
        return new SimpleJavaFileObject(URI.create("string:///Block.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return unit;
            }
        };
    }
}
