/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Gives a redis-server a clock of its own, by a library that is compiled here. Works where there is a C compiler, and
 * the server is linked dynamically, as the 6.2 of the test dependencies is on Linux; elsewhere the server has the
 * machine's clock.
 */
final class ClockAhead {

    private static final class Holder {
        static final @Nullable Path LIBRARY = compile();
    }

    private ClockAhead() {}

    /** Sets the environment of a server whose clock shall be ahead of the machine's. */
    static void set(Map<String, String> environment, Duration ahead) {
        Path library = Holder.LIBRARY;
        if (library != null) {
            environment.put("LD_PRELOAD", library.toString());
            environment.put("CLOCK_AHEAD_MILLIS", Long.toString(ahead.toMillis()));
        }
    }

    private static @Nullable Path compile() {
        try (InputStream text = ClockAhead.class.getResourceAsStream("clock-ahead.c")) {
            Path source = Files.createTempFile("clock-ahead", ".c");
            Path library = Files.createTempFile("clock-ahead", ".so");
            source.toFile().deleteOnExit();
            library.toFile().deleteOnExit();
            Files.copy(Objects.requireNonNull(text), source, StandardCopyOption.REPLACE_EXISTING);
            Process compiler = new ProcessBuilder("cc", "-shared", "-fPIC", "-o", library.toString(), source.toString())
                    .inheritIO()
                    .start();
            return compiler.waitFor() == 0 ? library : null;
        } catch (IOException noCompiler) {
            return null;
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            return null;
        }
    }
}
