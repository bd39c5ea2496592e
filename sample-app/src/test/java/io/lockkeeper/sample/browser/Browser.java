/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.browser;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.springframework.util.FileSystemUtils;
import tools.jackson.databind.json.JsonMapper;

/** A headless Chromium in a process and with a profile of its own. */
public final class Browser implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");

    private final HttpClient client = HttpClient.newHttpClient();
    private final List<Page> pages = new ArrayList<>();
    private final Path profile;
    private final Process process;
    private final int port;

    private Browser(Path executable) throws IOException, InterruptedException {
        profile = Files.createTempDirectory("browser-");
        process = new ProcessBuilder(
                        executable.toString(),
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--disable-quic",
                        "--disable-dev-shm-usage",
                        "--no-first-run",
                        "--disable-background-networking",
                        "--disable-component-update",
                        "--disable-sync",
                        "--hide-scrollbars",
                        "--remote-debugging-port=0",
                        "--user-data-dir=" + profile,
                        "about:blank")
                .redirectErrorStream(true)
                .redirectOutput(new File("/dev/null"))
                .start();
        try {
            port = awaitPort();
        } catch (IOException | InterruptedException | RuntimeException failed) {
            close();
            throw failed;
        }
    }

    private static Optional<Path> executable() {
        String path = System.getenv().getOrDefault("PATH", "");
        return NAMES.stream()
                .flatMap(name -> Stream.of(path.split(File.pathSeparator)).map(folder -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Returns whether tests can have a browser. */
    public static boolean isInstalled() {
        return executable().isPresent();
    }

    /** Starts the browser. */
    public static Browser start() throws IOException, InterruptedException {
        return new Browser(executable().orElseThrow());
    }

    /** Opens a page that shows nothing yet. */
    public Page open() throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/json/new?about:blank"))
                .timeout(PATIENCE)
                .PUT(HttpRequest.BodyPublishers.noBody())
                .build();
        String answer = client.send(request, BodyHandlers.ofString()).body();
        String address = JsonMapper.shared()
                .readTree(answer)
                .path("webSocketDebuggerUrl")
                .asString();
        Page page = new Page(client, URI.create(address));
        pages.add(page);
        return page;
    }

    @Override
    public void close() throws IOException {
        pages.forEach(Page::close);
        List<ProcessHandle> children = process.descendants().toList();
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException hurried) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        children.forEach(ProcessHandle::destroyForcibly);
        deleteProfile(children);
    }

    private void deleteProfile(List<ProcessHandle> writers) throws IOException {
        for (ProcessHandle writer : writers) {
            writer.onExit().completeOnTimeout(writer, 5, TimeUnit.SECONDS).join();
        }
        FileSystemUtils.deleteRecursively(profile);
    }

    /** Chromium writes the port that it has chosen into its profile. */
    private int awaitPort() throws IOException, InterruptedException {
        Path file = profile.resolve("DevToolsActivePort");
        long start = System.nanoTime();
        while (!Files.exists(file) || lines(file).size() < 2) {
            if (process.waitFor(50, TimeUnit.MILLISECONDS) || System.nanoTime() - start > PATIENCE.toNanos()) {
                throw new IOException("Chromium does not start; alive: " + process.isAlive());
            }
        }
        return Integer.parseInt(lines(file).get(0));
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }
}
