/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The class path of an application, as Maven wrote it.
 *
 * @param jars all jars
 */
record ClassPath(List<Path> jars) {

    static ClassPath read(Path file) throws IOException {
        return new ClassPath(Stream.of(Files.readString(file).strip().split(File.pathSeparator))
                .map(Path::of)
                .toList());
    }

    /** Returns this class path with the jars of the module that was built in a folder. */
    ClassPath withJarsOf(Path target) throws IOException {
        try (Stream<Path> files = Files.list(target)) {
            List<Path> built = files.filter(file -> file.toString().endsWith("-SNAPSHOT.jar")
                            || file.toString().matches(".*-[0-9.]+\\.jar"))
                    .toList();
            return new ClassPath(Stream.concat(jars.stream(), built.stream()).toList());
        }
    }

    /** Returns the jars of this project. */
    List<Path> own() {
        return jars.stream().filter(ClassPath::isOwn).toList();
    }

    /** Returns what another class path does not have, without the jars of this project. */
    List<Path> furtherThan(ClassPath other) {
        Set<Path> known = Set.copyOf(other.jars);
        return jars.stream().filter(jar -> !known.contains(jar) && !isOwn(jar)).toList();
    }

    private static boolean isOwn(Path jar) {
        return jar.getFileName().toString().startsWith("lock-");
    }

    /** Returns this class path with a folder behind it. */
    String with(Path folder) {
        return Stream.concat(jars.stream(), Stream.of(folder))
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
    }

    static long size(List<Path> files) {
        return files.stream().mapToLong(ClassPath::size).sum();
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
