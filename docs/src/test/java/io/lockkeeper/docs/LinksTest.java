/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Links between pages lead to files and headings that exist. */
class LinksTest {

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");

    static Stream<Path> pages() throws IOException {
        return Pages.all().stream();
    }

    @ParameterizedTest
    @MethodSource("pages")
    void leadSomewhere(Path page) throws IOException {
        Matcher link = LINK.matcher(Files.readString(page));
        while (link.find()) {
            String target = link.group(1);
            if (target.contains("://")) {
                continue;
            }
            String[] parts = target.split("#", 2);
            Path file =
                    parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
            assertThat(file).as(Pages.name(page) + " -> " + target).exists();
            if (parts.length == 2) {
                assertThat(anchors(file)).as(Pages.name(page) + " -> " + target).contains(parts[1]);
            }
        }
    }

    private static List<String> anchors(Path page) throws IOException {
        return HEADING.matcher(Files.readString(page))
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\w\\- ]", "")
                        .replace(' ', '-'))
                .toList();
    }
}
