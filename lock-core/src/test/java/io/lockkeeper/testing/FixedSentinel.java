/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Answers clients as a sentinel does whose master always has the same address, and tells of no failover. */
public final class FixedSentinel implements AutoCloseable {

    private final ServerSocket listener;
    private final int masterPort;

    private FixedSentinel(int masterPort) {
        this.masterPort = masterPort;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts one that names a port of the loopback. */
    public static FixedSentinel naming(int masterPort) {
        FixedSentinel sentinel = new FixedSentinel(masterPort);
        SocketWork.fork("fixed-sentinel", sentinel::accept);
        return sentinel;
    }

    /** The port on which clients ask. */
    public int port() {
        return listener.getLocalPort();
    }

    private void accept() throws IOException {
        while (!listener.isClosed()) {
            Socket client = listener.accept();
            SocketWork.fork("fixed-sentinel-client", () -> serve(client));
        }
    }

    private void serve(Socket client) throws IOException {
        try (client) {
            BufferedReader requests =
                    new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
            for (String count = requests.readLine(); count != null; count = requests.readLine()) {
                List<String> words = new ArrayList<>();
                for (int i = 0; i < Integer.parseInt(count.substring(1)); i++) {
                    requests.readLine();
                    words.add(requests.readLine());
                }
                client.getOutputStream().write(reply(words).getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private String reply(List<String> words) {
        return switch (words.get(0).toUpperCase(Locale.ROOT)) {
            case "SENTINEL" -> "*2\r\n" + text("127.0.0.1") + text("" + masterPort);
            case "SUBSCRIBE" -> "*3\r\n" + text("subscribe") + text(words.get(1)) + ":1\r\n";
            default -> "+PONG\r\n";
        };
    }

    private static String text(String value) {
        return "$" + value.length() + "\r\n" + value + "\r\n";
    }

    /** Takes no further clients. */
    @Override
    public void close() {
        SocketWork.closeQuietly(listener);
    }
}
