/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** The engine and its simulator once more, with one source file of the engine changed. */
final class SabotagedEngine extends ClassLoader {

    private static final String PACKAGE = "io.lockkeeper.engine.";
    private static final Path SOURCES = Path.of("src/main/java/io/lockkeeper/engine");

    private final Path classes;

    private SabotagedEngine(Path classes) {
        super(SabotagedEngine.class.getClassLoader());
        this.classes = classes;
    }

    /**
     * Changes a source file and compiles it.
     *
     * @param file the name of its class
     * @param part what it must contain once
     * @param by what takes the place of that
     * @param directory where the classes go, empty
     */
    static SabotagedEngine with(String file, String part, String by, Path directory) throws IOException {
        String source = source(file);
        int first = source.indexOf(part);
        if (first < 0 || source.indexOf(part, first + 1) >= 0) {
            throw new AssertionError(file + ".java must have exactly once: " + part);
        }
        Path changed = directory.resolve(file + ".java");
        Files.writeString(changed, source.replace(part, by));
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler(), "tests need a JDK");
        List<String> options = List.of(
                "-proc:none", "-nowarn", "-d", directory.toString(), "-cp", System.getProperty("java.class.path"));
        boolean compiled = compiler.getTask(
                        null,
                        null,
                        null,
                        options,
                        null,
                        compiler.getStandardFileManager(null, null, null).getJavaFileObjects(changed))
                .call();
        if (!compiled) {
            throw new AssertionError(file + ".java does not compile with: " + by);
        }
        return new SabotagedEngine(directory);
    }

    /** Returns the source of a class of the engine. */
    static String source(String file) throws IOException {
        return Files.readString(SOURCES.resolve(file + ".java"));
    }

    /** Looks for a history that fails; returns what failed, null: nothing. */
    Object search(long firstSeed, long nanos) throws ReflectiveOperationException {
        Class<?> simulation = loadClass(Simulation.class.getName());
        var search = simulation.getDeclaredMethod("search", long.class, long.class, long.class);
        search.setAccessible(true);
        return search.invoke(null, firstSeed, Long.MAX_VALUE / 2, nanos);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(PACKAGE)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            return known != null ? known : define(name);
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        String file = name.replace('.', '/') + ".class";
        Path changed = classes.resolve(file);
        try (InputStream given = Files.exists(changed)
                ? Files.newInputStream(changed)
                : getParent().getResourceAsStream(file)) {
            if (given == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] bytes = given.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
