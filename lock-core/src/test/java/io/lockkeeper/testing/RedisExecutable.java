/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The redis-server of this machine: {@code -Dredis.server=path}, else one of {@code -Dredis.version=6.2} or 7.0 that a
 * test dependency carries, else the one on the PATH, else 7.0. Found once per JVM.
 */
record RedisExecutable(Path path, int majorVersion) {

    private static final Map<String, RedisExecutable> VERSIONS = new ConcurrentHashMap<>();

    private static final class Holder {
        static final RedisExecutable INSTANCE = of(find());
    }

    static RedisExecutable get() {
        return Holder.INSTANCE;
    }

    /** Returns the one of a version, 6.2 or 7.0, that a test dependency carries. */
    static RedisExecutable get(String version) {
        return VERSIONS.computeIfAbsent(version, wanted -> of(extract(resource(wanted))));
    }

    private static RedisExecutable of(Path path) {
        try {
            Process process = new ProcessBuilder(path.toString(), "--version")
                    .redirectErrorStream(true)
                    .start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            Matcher version = Pattern.compile("v=(\\d+)\\.").matcher(output);
            if (!version.find()) {
                throw new IllegalStateException(path + " is no redis-server: " + output);
            }
            return new RedisExecutable(path, Integer.parseInt(version.group(1)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path find() {
        String configured = System.getProperty("redis.server");
        if (configured != null) {
            return Path.of(configured);
        }
        String version = System.getProperty("redis.version");
        if (version != null) {
            return extract(resource(version));
        }
        String searchPath = System.getenv("PATH");
        for (String folder : searchPath == null ? new String[0] : searchPath.split(File.pathSeparator, -1)) {
            Path candidate = Path.of(folder, "redis-server");
            if (!folder.isEmpty() && Files.isExecutable(candidate)) {
                return candidate;
            }
        }
        return extract(resource("7.0"));
    }

    private static String resource(String version) {
        return switch (version) {
            case "7.0" -> "/redis-server-7.0.15-" + platform();
            // That of Linux on 64 bit says that it is 6.2.11
            case "6.2" ->
                "/redis-server-" + (Set.of("386", "arm64").contains(cpu()) ? "6.2.7-" : "6.2.6-v5-") + platform();
            default -> throw new IllegalArgumentException("There is no redis-server " + version + ", but 6.2 and 7.0");
        };
    }

    private static String platform() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        return (os.contains("mac") ? "darwin" : os) + "-" + cpu();
    }

    private static String cpu() {
        return switch (System.getProperty("os.arch")) {
            case "aarch64" -> "arm64";
            case "x86_64", "amd64" -> "amd64";
            case "x86", "i386" -> "386";
            default -> System.getProperty("os.arch");
        };
    }

    private static Path extract(String resource) {
        try (InputStream binary = RedisExecutable.class.getResourceAsStream(resource)) {
            if (binary == null) {
                throw new IllegalStateException("No redis-server for this platform (" + resource
                        + "): install one or name one with -Dredis.server=path");
            }
            Path file = Files.createTempFile("redis-server", "");
            file.toFile().deleteOnExit();
            Files.copy(binary, file, StandardCopyOption.REPLACE_EXISTING);
            if (!file.toFile().setExecutable(true)) {
                throw new IllegalStateException("Cannot make " + file + " executable");
            }
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
