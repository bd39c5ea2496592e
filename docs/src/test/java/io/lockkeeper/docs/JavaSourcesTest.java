/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the compilers of later JDKs refuse in sources, and that of JDK 17 lets pass. */
class JavaSourcesTest {

    /** {@code -Xlint:dangling-doc-comments}, since JDK 23. */
    @Test
    void noDocumentationCommentFollowsAnotherOne() throws IOException {
        List<Path> sources = Pages.files(".java");

        assertThat(sources).hasSizeGreaterThan(500);
        assertThat(sources.stream().flatMap(JavaSourcesTest::danglingComments)).isEmpty();
    }

    private static Stream<String> danglingComments(Path source) {
        List<String> lines = linesOf(source);
        // The first line is the licence, in a comment of another kind.
        return IntStream.range(1, lines.size() - 1)
                .filter(i -> lines.get(i).strip().endsWith("*/")
                        && lines.get(i + 1).strip().startsWith("/**"))
                .mapToObj(i -> Pages.name(source) + ":" + (i + 1));
    }

    private static List<String> linesOf(Path source) {
        try {
            return Files.readAllLines(source);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
