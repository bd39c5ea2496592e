/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** How every page of the repository is written. */
class MarkdownTest {

    private static final int WIDTH = 120;

    /** A row cannot be wrapped. What needs more than this is no table. */
    private static final int ROW_WIDTH = 240;

    /** A link, which cannot be wrapped either, counts as nothing, and an element of HTML. */
    private static final Pattern LINK = Pattern.compile("\\]\\([^)]*\\)|<[^>]+>|https?://\\S+");

    private static final Pattern CONFLICT = Pattern.compile("(?m)^(<{7}|\\|{7}|={7}|>{7})( |$)");

    static Stream<Path> pages() throws IOException {
        List<Path> pages = Pages.files(".md");
        assertThat(pages).hasSizeGreaterThan(Pages.all().size());
        return pages.stream();
    }

    @ParameterizedTest
    @MethodSource("pages")
    void linesAreWrapped(Path page) throws IOException {
        List<String> lines = Files.readAllLines(page);
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            assertThat(LINK.matcher(line).replaceAll("").length())
                    .as(Pages.name(page) + ":" + (i + 1))
                    .isLessThanOrEqualTo(line.startsWith("|") ? ROW_WIDTH : WIDTH);
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void noConflictOfAMergeIsLeftAndNoParagraphStandsTwice(Path page) throws IOException {
        String text = Files.readString(page);
        assertThat(CONFLICT.matcher(text).results().map(found -> found.group(1)))
                .as(Pages.name(page))
                .isEmpty();
        assertThat(Pattern.compile("\n{2,}").splitAsStream(text).filter(part -> part.length() > WIDTH))
                .as(Pages.name(page))
                .doesNotHaveDuplicates();
    }

    @Test
    void thePageAboutTestsBeginsWithTheLineThatMostNeed() throws IOException {
        String page = Files.readString(Pages.project().resolve("docs/testing.md"));
        assertThat(page.substring(0, page.indexOf("\n## ")))
                .contains("The one line that most tests need is `lockkeeper.store=memory`:\n\n```yaml\nlockkeeper:\n");
    }
}
