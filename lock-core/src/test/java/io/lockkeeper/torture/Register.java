/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The resource that the locks protect: a number for each name, behind a socket of its own, so that no fault touches it.
 * Guarded, it refuses whoever comes with a token below the highest that it has seen.
 */
final class Register implements AutoCloseable {

    /** What came of an access: the number, or STALE. */
    static final String STALE = "stale";

    private static final class Cell {
        private long value;
        private long highest;
        private long writer;
    }

    private final boolean guarded;
    private final ServerSocket listener;
    private final Map<String, Cell> cells = new HashMap<>();
    private final List<String> violations = new CopyOnWriteArrayList<>();
    private final List<Socket> clients = new CopyOnWriteArrayList<>();
    private long accepted;
    private long refused;

    Register(boolean guarded) {
        this.guarded = guarded;
        try {
            listener = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        fork("register-accept", this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Reads the number of a name, and marks the token as seen. */
    synchronized String read(String name, long token) {
        Cell cell = cells.computeIfAbsent(name, unseen -> new Cell());
        if (guarded && token < cell.highest) {
            refused++;
            return STALE;
        }
        cell.highest = Math.max(cell.highest, token);
        return Long.toString(cell.value);
    }

    /** Writes a number that the writer has made from the one that it read: the next one. */
    synchronized String write(String name, long token, long value) {
        Cell cell = cells.computeIfAbsent(name, unseen -> new Cell());
        if (guarded && token < cell.highest) {
            refused++;
            return STALE;
        }
        if (token < cell.writer) {
            violations.add("A stale write to '%s': token %d after %d".formatted(name, token, cell.writer));
        }
        if (value != cell.value + 1) {
            violations.add("A lost update of '%s': %d after %d by token %d".formatted(name, value, cell.value, token));
        }
        cell.highest = Math.max(cell.highest, token);
        cell.writer = Math.max(cell.writer, token);
        cell.value = value;
        accepted++;
        return Long.toString(value);
    }

    /** Writes that were accepted and should not have been. */
    List<String> violations() {
        return List.copyOf(violations);
    }

    synchronized long accepted() {
        return accepted;
    }

    /** Accesses of holders whose time was over. */
    synchronized long refused() {
        return refused;
    }

    @Override
    public void close() {
        closeQuietly(listener);
        clients.forEach(Register::closeQuietly);
    }

    private void accept() throws IOException {
        while (!listener.isClosed()) {
            Socket client = listener.accept();
            client.setTcpNoDelay(true);
            clients.add(client);
            fork("register", () -> serve(client));
        }
    }

    private void serve(Socket client) throws IOException {
        try (client;
                BufferedReader in =
                        new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
                Writer out = new OutputStreamWriter(client.getOutputStream(), StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", -1);
                long token = Long.parseLong(words[2]);
                out.write((words[0].equals("read")
                                ? read(words[1], token)
                                : write(words[1], token, Long.parseLong(words[3])))
                        + "\n");
                out.flush();
            }
        } finally {
            clients.remove(client);
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void fork(String name, Work work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (IOException gone) {
                        // A worker was killed, or the register is closed
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void closeQuietly(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            // There is nothing left to do with it
        }
    }
}
