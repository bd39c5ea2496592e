/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.servers;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.util.FileSystemUtils;

/** A redis-server in a process of its own, from the binary in org.signal:embedded-redis, without persistence. */
final class RedisServer {

    private static final int TIMEOUT_MILLIS = 1_000;

    private static final Logger log = LoggerFactory.getLogger(RedisServer.class);
    private static final String PID_FILE = "redis.pid";

    private final String host;
    private final int port;
    private @Nullable Path home;

    RedisServer(String host, int port) {
        this.host = host;
        this.port = port;
    }

    /**
     * Starts the server. It makes itself a daemon, because it would die with the terminal of the instance that started
     * it otherwise. Where another process has the port already it ends at once, without a trace.
     */
    void start(Path folder) throws IOException {
        Path own = Files.createTempDirectory(folder, "redis-");
        home = own;
        Path binary = extractBinary(own);
        new ProcessBuilder(
                        binary.toString(),
                        "--port",
                        String.valueOf(port),
                        "--bind",
                        "127.0.0.1",
                        "-::1",
                        "--dir",
                        own.toString(),
                        "--pidfile",
                        own.resolve(PID_FILE).toString(),
                        "--logfile",
                        own.resolve("redis.log").toString(),
                        "--save",
                        "",
                        "--appendonly",
                        "no",
                        "--daemonize",
                        "yes")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.to(new File("/dev/null")))
                .start();
    }

    /** Returns whether the server that answers is the one which {@link #start} started. */
    boolean isOwn() {
        return process().isPresent();
    }

    /** Ends the server that {@link #start} started, and no other; nothing of it stays. */
    void stop() {
        process().filter(ProcessHandle::destroy).ifPresent(process -> process.onExit()
                .completeOnTimeout(process, TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
                .join());
        try {
            FileSystemUtils.deleteRecursively(home);
        } catch (IOException leftBehind) {
            log.warn("Cannot delete {}", home, leftBehind);
        }
    }

    /** Returns whether nothing answers, on this machine; a server elsewhere is not ours to start. */
    boolean isMissing() {
        return isLocal() && !answers();
    }

    private boolean isLocal() {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException elsewhere) {
            return false;
        }
    }

    private boolean answers() {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), TIMEOUT_MILLIS);
            socket.setSoTimeout(TIMEOUT_MILLIS);
            socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
            int first = socket.getInputStream().read();
            // "-" where it wants a password: that is for the application to give
            return first == '+' || first == '-';
        } catch (IOException refused) {
            return false;
        }
    }

    private Optional<ProcessHandle> process() {
        Path pidFile = home == null ? null : home.resolve(PID_FILE);
        if (pidFile == null || !Files.exists(pidFile)) {
            return Optional.empty();
        }
        try {
            return ProcessHandle.of(Long.parseLong(Files.readString(pidFile).strip()));
        } catch (IOException | NumberFormatException halfWritten) {
            return Optional.empty();
        }
    }

    private static Path extractBinary(Path folder) throws IOException {
        String resource = "/redis-server-7.0.15-" + platform();
        Path binary = folder.resolve("redis-server");
        try (InputStream content = RedisServer.class.getResourceAsStream(resource)) {
            if (content == null) {
                throw new FileNotFoundException("No redis-server for this platform on the class path: " + resource
                        + "; start one by hand and set spring.data.redis.host and .port");
            }
            Files.copy(content, binary);
        }
        if (!binary.toFile().setExecutable(true)) {
            throw new IOException("Cannot make " + binary + " executable");
        }
        return binary;
    }

    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return (system.contains("mac") ? "darwin" : system)
                + "-"
                + (processor.equals("aarch64") ? "arm64" : processor.replace("x86_64", "amd64"));
    }
}
