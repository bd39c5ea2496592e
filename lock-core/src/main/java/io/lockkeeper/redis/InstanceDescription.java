/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoredInstance;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The text in which an instance describes itself: its parts with blanks between, in the encoding of a URL. */
final class InstanceDescription {

    private InstanceDescription() {}

    static byte[] of(StoredInstance instance) {
        return RedisNames.bytes(Stream.of(
                        instance.clientId(),
                        instance.application(),
                        instance.host(),
                        instance.pid(),
                        instance.since(),
                        instance.service())
                .map(part -> URLEncoder.encode(part.toString(), StandardCharsets.UTF_8))
                .collect(Collectors.joining(" ")));
    }

    /** Reads what {@link #of} wrote; empty where there is nothing, or something else. */
    static Optional<StoredInstance> parse(byte @Nullable [] text) {
        if (text == null) {
            return Optional.empty();
        }
        try {
            String[] parts = Stream.of(new String(text, StandardCharsets.UTF_8).split(" ", -1))
                    .map(part -> URLDecoder.decode(part, StandardCharsets.UTF_8))
                    .toArray(String[]::new);
            return Optional.of(new StoredInstance(
                    parts[0], parts[1], parts[2], Long.parseLong(parts[3]), Instant.parse(parts[4]), parts[5]));
        } catch (IllegalArgumentException | DateTimeException | ArrayIndexOutOfBoundsException notOurs) {
            return Optional.empty();
        }
    }
}
