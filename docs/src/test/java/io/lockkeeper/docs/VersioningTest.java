/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is compared with the last release is what the page promises. */
class VersioningTest {

    @Test
    void theComparisonLeavesOutWhatHasNoPromiseAndNothingElse() throws IOException {
        String excluded = Files.readString(Pages.project().resolve("pom.xml"));
        assertThat(packages("everything else"))
                .hasSizeGreaterThan(3)
                .filteredOn(name -> !name.equals("io.lockkeeper.redis"))
                .allSatisfy(name -> assertThat(excluded).contains("<exclude>" + name + "</exclude>"));
        for (String promised : List.of("API", "SPI")) {
            assertThat(packages(promised)).isNotEmpty().allSatisfy(name -> assertThat(excluded)
                    .doesNotContain("<exclude>" + name + "</exclude>"));
        }
    }

    @Test
    void everyPackageWithPublicTypesHasItsLine() throws IOException {
        List<String> named = Stream.of("API", "SPI", "everything else")
                .flatMap(row -> packages(row).stream())
                .toList();
        Pattern publicType = Pattern.compile("(?m)^public .*(class|interface|enum|record) ");
        for (String module : List.of(
                "lock-core",
                "lock-quorum",
                "lock-spring-boot-autoconfigure",
                "lock-spring-boot-test",
                "lock-spring-integration",
                "lock-shedlock")) {
            try (Stream<Path> files = Files.walk(Pages.project().resolve(module).resolve("src/main/java"))) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    if (publicType.matcher(Files.readString(file)).find()) {
                        String name = file.getParent()
                                .toString()
                                .replaceAll(".*src.main.java.", "")
                                .replaceAll("[/\\\\]", ".");
                        assertThat(named)
                                .as(file.toString())
                                .contains(name.startsWith("io.lockkeeper.redis.") ? "io.lockkeeper.redis" : name);
                    }
                }
            }
        }
    }

    /** Returns the packages that a line of the page names. */
    private static List<String> packages(String row) {
        String page;
        try {
            page = Files.readString(Pages.project().resolve("docs/versioning.md"));
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
        String line = page.lines()
                .filter(text -> text.startsWith("| " + row))
                .findFirst()
                .orElseThrow();
        return Pattern.compile("`(io\\.lockkeeper)?((?:\\.[a-z]+)*)`")
                .matcher(line)
                .results()
                .map(name -> "io.lockkeeper" + name.group(2))
                .toList();
    }
}
