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
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The redis-server of this machine: {@code -Dredis.server=path}, else the one on the PATH, else the one that a test
 * dependency carries. Found once per JVM.
 */
record RedisExecutable(Path path, int majorVersion) {

    private static final class Holder {
        static final RedisExecutable INSTANCE = of(find());
    }

    static RedisExecutable get() {
        return Holder.INSTANCE;
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
        String searchPath = System.getenv("PATH");
        for (String folder : searchPath == null ? new String[0] : searchPath.split(File.pathSeparator, -1)) {
            Path candidate = Path.of(folder, "redis-server");
            if (!folder.isEmpty() && Files.isExecutable(candidate)) {
                return candidate;
            }
        }
        return extract("/redis-server-7.0.15-" + platform());
    }

    private static String platform() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String cpu =
                switch (System.getProperty("os.arch")) {
                    case "aarch64" -> "arm64";
                    case "x86_64", "amd64" -> "amd64";
                    case "x86", "i386" -> "386";
                    default -> System.getProperty("os.arch");
                };
        return (os.contains("mac") ? "darwin" : os) + "-" + cpu;
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
