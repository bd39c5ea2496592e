/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.docs;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The pages that users read, and the files of the project. */
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

    /** Returns the files of the project whose names end so, without what is built or hidden. */
    static List<Path> files(String ending) throws IOException {
        List<Path> files = new ArrayList<>();
        Files.walkFileTree(PROJECT, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                String name = folder.getFileName().toString();
                return name.equals("target") || (name.startsWith(".") && !folder.equals(PROJECT))
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().endsWith(ending)) {
                    files.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return files.stream().sorted().toList();
    }

    static String name(Path page) {
        return PROJECT.relativize(page).toString();
    }
}
