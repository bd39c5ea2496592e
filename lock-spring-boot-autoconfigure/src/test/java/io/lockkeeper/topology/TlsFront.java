/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.topology;

import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;

/**
 * A server behind TLS, with a certificate of its own for {@code localhost}: what clients send is passed on in the
 * clear.
 */
final class TlsFront implements AutoCloseable {

    static final String PASSWORD = "certain";

    private final RedisServer server;
    private final Path certificate;
    private final SSLServerSocket listener;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "tls-front");
        thread.setDaemon(true);
        return thread;
    });

    TlsFront(RedisServer server, Path folder) throws Exception {
        this.server = server;
        this.certificate = folder.resolve("server.p12");
        createCertificate();
        listener = (SSLServerSocket)
                context().getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress());
        threads.execute(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** The key store, with what a client must trust. */
    Path certificate() {
        return certificate;
    }

    private void createCertificate() throws IOException, InterruptedException {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-alias",
                "server",
                "-dname",
                "CN=localhost",
                "-ext",
                "SAN=DNS:localhost",
                "-storetype",
                "PKCS12",
                "-keystore",
                certificate.toString(),
                "-storepass",
                PASSWORD);
        Process keytool = new ProcessBuilder(command).inheritIO().start();
        if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
            throw new IllegalStateException("keytool made no certificate");
        }
    }

    private SSLContext context() throws GeneralSecurityException, IOException {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream store = Files.newInputStream(certificate)) {
            keys.load(store, PASSWORD.toCharArray());
        }
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return context;
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listener.accept();
                Socket behind = new Socket(server.host(), server.port());
                threads.execute(() -> pass(client, behind));
                threads.execute(() -> pass(behind, client));
            }
        } catch (IOException closed) {
            threads.shutdown();
        }
    }

    private static void pass(Socket from, Socket to) {
        try (from;
                to) {
            from.getInputStream().transferTo(to.getOutputStream());
        } catch (IOException gone) {
            // One of the two has left, or did not trust the other.
            return;
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        server.close();
    }
}
