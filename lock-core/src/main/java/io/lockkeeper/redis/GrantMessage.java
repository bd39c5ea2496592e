package io.lockkeeper.redis;

import io.lockkeeper.store.Grant;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** The text of a message on a grant channel: {@code grant attempt token until key}. */
final class GrantMessage {

    private GrantMessage() {}

    /** Returns the grant; empty where the message is of a kind that a later version may know. */
    static Optional<Grant> parse(byte[] message, RedisNames names) {
        String[] parts = new String(message, StandardCharsets.UTF_8).split(" ", 5);
        if (parts.length < 5 || !parts[0].equals("grant")) {
            return Optional.empty();
        }
        return Optional.of(
                new Grant(parts[1], names.lockName(parts[4]), Long.parseLong(parts[2]), Long.parseLong(parts[3])));
    }
}
