/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoredInstance;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The text in which an instance describes itself to people who ask who holds a lock: a line for each thing. */
final class InstanceDescription {

    private static final int LINES = 5;

    private InstanceDescription() {}

    static byte[] of(StoredInstance instance) {
        return RedisNames.bytes(Stream.of(
                        instance.clientId(), instance.application(), instance.host(), instance.pid(), instance.since())
                .map(part -> part.toString().replace('\n', ' '))
                .collect(Collectors.joining("\n")));
    }

    /** Reads what {@link #of} wrote; empty where there is nothing, or something else. */
    static Optional<StoredInstance> parse(byte @Nullable [] text) {
        String[] lines = text == null ? new String[0] : new String(text, StandardCharsets.UTF_8).split("\n", -1);
        try {
            return lines.length != LINES
                    ? Optional.empty()
                    : Optional.of(new StoredInstance(
                            lines[0], lines[1], lines[2], Long.parseLong(lines[3]), Instant.parse(lines[4])));
        } catch (NumberFormatException | DateTimeException notOurs) {
            return Optional.empty();
        }
    }
}
