package io.lockkeeper.testing;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The serialization protocol of Redis, version 2, as far as tests need it. */
final class Resp {

    private Resp() {}

    /** Returns a request. */
    static byte[] request(String... arguments) {
        StringBuilder request = new StringBuilder("*" + arguments.length + "\r\n");
        for (String argument : arguments) {
            request.append('$')
                    .append(argument.getBytes(StandardCharsets.UTF_8).length)
                    .append("\r\n");
            request.append(argument).append("\r\n");
        }
        return request.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Reads a reply: text, Long, List or null. An error is thrown. */
    static @Nullable Object reply(InputStream in) throws IOException {
        String line = line(in);
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+' -> rest;
            case '-' -> throw new IllegalStateException(rest);
            case ':' -> Long.parseLong(rest);
            case '$' -> Integer.parseInt(rest) < 0 ? null : text(in, Integer.parseInt(rest));
            case '*' -> list(in, Integer.parseInt(rest));
            default -> throw new IOException("Not a reply: " + line);
        };
    }

    /** Reads one whole message as it is, whatever it is; null at the end of the stream. */
    static byte @Nullable [] raw(InputStream in) throws IOException {
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        int first = in.read();
        if (first < 0) {
            return null;
        }
        copy(in, first, message);
        return message.toByteArray();
    }

    private static void copy(InputStream in, int type, ByteArrayOutputStream message) throws IOException {
        String rest = line(in);
        message.write(type);
        message.write((rest + "\r\n").getBytes(StandardCharsets.UTF_8));
        if ((type == '$' || type == '=' || type == '!') && !rest.startsWith("-")) {
            message.write(exactly(in, Integer.parseInt(rest) + 2));
        } else if ((type == '*' || type == '>' || type == '~' || type == '%') && !rest.startsWith("-")) {
            int parts = Integer.parseInt(rest) * (type == '%' ? 2 : 1);
            for (int i = 0; i < parts; i++) {
                copy(in, in.read(), message);
            }
        }
    }

    private static @Nullable List<@Nullable Object> list(InputStream in, int size) throws IOException {
        if (size < 0) {
            return null;
        }
        List<@Nullable Object> list = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            list.add(reply(in));
        }
        return list;
    }

    private static String text(InputStream in, int length) throws IOException {
        return new String(exactly(in, length + 2), 0, length, StandardCharsets.UTF_8);
    }

    private static byte[] exactly(InputStream in, int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException();
        }
        return bytes;
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        int read;
        while ((read = in.read()) != '\r') {
            if (read < 0) {
                throw new EOFException();
            }
            line.append((char) read);
        }
        in.read();
        return line.toString();
    }
}
