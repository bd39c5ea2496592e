/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Counts what Redis executes, by MONITOR: it tells which commands came from a client, and which from a script. */
final class Monitor implements AutoCloseable {

    private static final Pattern COMMAND = Pattern.compile("^\\+\\S+ \\[\\d+ (\\S+)] \"([^\"]*)\"");

    private final Socket socket;
    private final Thread reader;
    private long requests;
    private long scripted;

    Monitor(int port) {
        try {
            socket = new Socket(Connections.HOST, port);
            socket.getOutputStream().write("MONITOR\r\n".getBytes(StandardCharsets.US_ASCII));
            BufferedReader lines =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
            lines.readLine();
            reader = new Thread(() -> count(lines), "monitor");
            reader.setDaemon(true);
            reader.start();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private void count(BufferedReader lines) {
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher command = COMMAND.matcher(line);
                if (!command.find()) {
                    continue;
                }
                if (command.group(1).equals("lua")) {
                    scripted++;
                } else if (!command.group(2).toLowerCase(Locale.ROOT).equals("info")) {
                    requests++;
                }
            }
        } catch (IOException closed) {
            // The end of the measurement.
        }
    }

    /** Ends the count. */
    @Override
    public void close() {
        try {
            socket.shutdownOutput();
            reader.join(2_000);
            socket.close();
            reader.join();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    long requests() {
        return requests;
    }

    long commands() {
        return requests + scripted;
    }
}
