/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/** One thread's way to the {@link Register}. */
final class RegisterClient implements AutoCloseable {

    private final Socket socket;
    private final BufferedReader in;
    private final Writer out;

    RegisterClient(int port) {
        try {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            out = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The number of a name; empty: the token is stale. */
    OptionalLong read(String name, long token) {
        return ask("read " + name + " " + token);
    }

    /** Whether the number was written; empty: the token is stale. */
    OptionalLong write(String name, long token, long value) {
        return ask("write " + name + " " + token + " " + value);
    }

    private OptionalLong ask(String line) {
        try {
            out.write(line + "\n");
            out.flush();
            String answer = in.readLine();
            if (answer == null) {
                throw new IllegalStateException("The register is closed");
            }
            return answer.equals(Register.STALE) ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(answer));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
