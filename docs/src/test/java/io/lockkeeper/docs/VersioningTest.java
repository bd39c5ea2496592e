/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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
    void theTypesThatAreLeftOutAreThoseThatSayThatTheyAreInternal() throws IOException {
        List<String> promised =
                Stream.of("API", "SPI").flatMap(row -> packages(row).stream()).toList();
        Set<String> internal = new TreeSet<>();
        for (Path file : sources()) {
            String source = Files.readString(file);
            if (source.contains("* <p>Internal: ") && promised.contains(packageOf(file))) {
                internal.add(
                        packageOf(file) + "." + file.getFileName().toString().replace(".java", ""));
            }
        }

        Set<String> leftOut = Pattern.compile("<exclude>(io\\.lockkeeper[a-z.]*\\.[A-Z]\\w*)</exclude>")
                .matcher(Files.readString(Pages.project().resolve("pom.xml")))
                .results()
                .map(type -> type.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(leftOut).hasSizeGreaterThan(3).isEqualTo(internal);
    }

    @Test
    void everyPackageWithPublicTypesHasItsLine() throws IOException {
        List<String> named = Stream.of("API", "SPI", "everything else")
                .flatMap(row -> packages(row).stream())
                .toList();
        Pattern publicType = Pattern.compile("(?m)^public .*(class|interface|enum|record) ");
        for (Path file : sources()) {
            if (publicType.matcher(Files.readString(file)).find()) {
                String name = packageOf(file);
                assertThat(named)
                        .as(file.toString())
                        .contains(name.startsWith("io.lockkeeper.redis.") ? "io.lockkeeper.redis" : name);
            }
        }
    }

    private static List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>();
        for (String module : List.of(
                "lock-core",
                "lock-quorum",
                "lock-spring-boot-autoconfigure",
                "lock-spring-boot-test",
                "lock-spring-integration",
                "lock-shedlock")) {
            try (Stream<Path> files = Files.walk(Pages.project().resolve(module).resolve("src/main/java"))) {
                files.filter(path -> path.toString().endsWith(".java")).forEach(sources::add);
            }
        }
        return sources;
    }

    private static String packageOf(Path file) {
        return file.getParent().toString().replaceAll(".*src.main.java.", "").replaceAll("[/\\\\]", ".");
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
