/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The pages that users read. */
final class Pages {

    private static final Path PROJECT = project();

    private Pages() {}

    static Path project() {
        Path here = Path.of("").toAbsolutePath();
        return Files.exists(here.resolve("mvnw")) ? here : here.getParent();
    }

    static List<Path> all() throws IOException {
        try (Stream<Path> docs = Files.walk(PROJECT.resolve("docs"))) {
            Stream<Path> pages = docs.filter(page -> page.toString().endsWith(".md"));
            return Stream.concat(
                            pages,
                            Stream.of("README.md", "CONTRIBUTING.md", "SECURITY.md", "sample-app/README.md")
                                    .map(PROJECT::resolve))
                    .sorted()
                    .toList();
        }
    }

    static String name(Path page) {
        return PROJECT.relativize(page).toString();
    }
}
