/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoredInstance;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The JSON text in which an instance describes itself as a holder or waiter. */
final class InstanceDescription {

    // Possessive, because a long text would take a stack frame for each character else.
    private static final Pattern FIELD =
            Pattern.compile("\"(\\w+)\":(?:\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"|(\\d+))");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))");

    private static final Pattern UNSAFE = Pattern.compile("[\\x00-\\x1f\"\\\\]");

    private InstanceDescription() {}

    static String toJson(StoredInstance instance) {
        return "{\"id\":%s,\"application\":%s,\"host\":%s,\"pid\":%s,\"since\":%s,\"service\":%s}"
                .formatted(
                        quoted(instance.clientId()),
                        quoted(instance.application()),
                        quoted(instance.host()),
                        instance.pid(),
                        quoted(instance.since().toString()),
                        quoted(instance.service()));
    }

    /** Reads what {@link #toJson} wrote; empty where it is something else. */
    static Optional<StoredInstance> parse(byte[] json) {
        Map<String, String> fields = new HashMap<>();
        Matcher field = FIELD.matcher(new String(json, StandardCharsets.UTF_8));
        while (field.find()) {
            fields.put(field.group(1), field.group(2) == null ? field.group(3) : unquoted(field.group(2)));
        }
        try {
            return Optional.of(new StoredInstance(
                    fields.getOrDefault("id", ""),
                    fields.getOrDefault("application", ""),
                    fields.getOrDefault("host", ""),
                    Long.parseLong(fields.getOrDefault("pid", "0")),
                    Instant.parse(fields.getOrDefault("since", "")),
                    fields.getOrDefault("service", "")));
        } catch (NumberFormatException | DateTimeException notOurs) {
            return Optional.empty();
        }
    }

    private static String unquoted(String text) {
        return ESCAPE.matcher(text).replaceAll(escape -> {
            String code = escape.group(1);
            String character = code == null ? escape.group(2) : Character.toString(Integer.parseInt(code, 16));
            return Matcher.quoteReplacement(character);
        });
    }

    private static String quoted(String text) {
        return '"'
                + UNSAFE.matcher(text).replaceAll(unsafe -> "\\\\u%04x"
                        .formatted((int) unsafe.group().charAt(0)))
                + '"';
    }
}
