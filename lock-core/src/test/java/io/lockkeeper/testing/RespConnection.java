/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A connection to Redis over a plain socket, independent of any driver under test. Not thread-safe.
 *
 * <p>Replies are a String, a Long, a List of replies or null. A failing socket throws {@link UncheckedIOException}.
 */
public final class RespConnection implements AutoCloseable {

    /** An error that Redis replied: thrown if it is the whole reply, an element if it is inside an array. */
    public static final class ErrorReply extends RuntimeException {

        ErrorReply(String message) {
            super(message);
        }
    }

    private final Socket socket;
    private final OutputStream out;
    private final RespReader reader;

    /** Connects; {@code timeout} bounds the connecting and each wait for a reply. */
    public RespConnection(String host, int port, Duration timeout) {
        socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(host, port), Math.toIntExact(timeout.toMillis()));
            socket.setSoTimeout(Math.toIntExact(timeout.toMillis()));
            socket.setTcpNoDelay(true);
            out = socket.getOutputStream();
            reader = new RespReader(socket.getInputStream());
        } catch (IOException e) {
            close();
            throw new UncheckedIOException(e);
        }
    }

    /** Sends a command and waits for its reply. */
    public @Nullable Object command(String... arguments) {
        send(arguments);
        return receive();
    }

    /** Sends a command without waiting for its reply. */
    public void send(String... arguments) {
        try {
            out.write(encode(arguments));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends several commands at once, without waiting for their replies. */
    public void sendAll(List<String[]> commands) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        commands.forEach(command -> bytes.writeBytes(encode(command)));
        try {
            out.write(bytes.toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for the next reply or pushed message. */
    public @Nullable Object receive() {
        RespReader.Frame frame;
        try {
            frame = reader.read();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (frame == null) {
            throw new UncheckedIOException(new EOFException("Redis closed the connection"));
        }
        if (frame.value() instanceof ErrorReply error) {
            // Made anew: the trace then leads to the caller's command
            throw new ErrorReply(String.valueOf(error.getMessage()));
        }
        return frame.value();
    }

    /** Closes the socket. */
    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] encode(String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(("*" + arguments.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (String argument : arguments) {
            byte[] utf8 = argument.getBytes(StandardCharsets.UTF_8);
            bytes.writeBytes(("$" + utf8.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            bytes.writeBytes(utf8);
            bytes.writeBytes(new byte[] {'\r', '\n'});
        }
        return bytes.toByteArray();
    }
}
