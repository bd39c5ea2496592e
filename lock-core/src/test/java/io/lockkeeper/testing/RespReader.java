/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ProtocolException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads whole RESP 2 and 3 values from a stream and keeps their bytes as they came. */
final class RespReader {

    /**
     * One value on the wire.
     *
     * @param type the RESP type, its first byte
     * @param value String, Long, ErrorReply, List (maps are flat) or null
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Frame(char type, @Nullable Object value, byte[] raw) {}

    private final InputStream in;
    private final ByteArrayOutputStream raw = new ByteArrayOutputStream();

    RespReader(InputStream in) {
        this.in = new BufferedInputStream(in);
    }

    /** The next value; null where the stream ends between two values. */
    @Nullable
    Frame read() throws IOException {
        raw.reset();
        int type = in.read();
        if (type < 0) {
            return null;
        }
        Object value = readValue(type);
        return new Frame((char) type, value, raw.toByteArray());
    }

    private @Nullable Object readValue(int type) throws IOException {
        raw.write(type);
        String line = readLine();
        return switch (type) {
            case '+', ',', '(', '#' -> line;
            case '-' -> new RespConnection.ErrorReply(line);
            case ':' -> Long.valueOf(line);
            case '_' -> null;
            case '$', '=' -> readBulk(Integer.parseInt(line));
            case '!' -> new RespConnection.ErrorReply(String.valueOf(readBulk(Integer.parseInt(line))));
            case '*', '~', '>' -> readArray(Integer.parseInt(line));
            case '%' -> readArray(2 * Integer.parseInt(line));
            case '|' -> {
                readArray(2 * Integer.parseInt(line));
                yield readValue(readByte());
            }
            default -> throw new ProtocolException("Not a RESP type: " + (char) type);
        };
    }

    private @Nullable List<@Nullable Object> readArray(int size) throws IOException {
        if (size < 0) {
            return null;
        }
        List<@Nullable Object> values = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            values.add(readValue(readByte()));
        }
        return values;
    }

    private @Nullable String readBulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length + 2);
        if (bytes.length < length + 2) {
            throw new EOFException();
        }
        raw.write(bytes);
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    private String readLine() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int b = readByte();
        while (b != '\r') {
            line.write(b);
            b = readByte();
        }
        raw.write(line.toByteArray());
        raw.write('\r');
        raw.write(readByte());
        return line.toString(StandardCharsets.UTF_8);
    }

    private int readByte() throws IOException {
        int b = in.read();
        if (b < 0) {
            throw new EOFException();
        }
        return b;
    }
}
