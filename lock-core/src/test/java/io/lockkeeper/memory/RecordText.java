/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.ClaimMode;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The record of the model as the text that the script's record has in Redis, field by field. */
final class RecordText {

    static final List<String> FIELDS = List.of(
            "version", "mode", "owner", "token", "first", "until", "since", "granted", "previous", "readers", "queue");

    /** Where no command has written yet, there is no key. */
    static final String ABSENT = "absent";

    private static final Map<ClaimMode, String> LETTERS =
            Map.of(ClaimMode.EXCLUSIVE, "X", ClaimMode.FAIR, "F", ClaimMode.READ, "R", ClaimMode.WRITE, "W");

    private RecordText() {}

    static String letter(ClaimMode mode) {
        return LETTERS.get(mode);
    }

    static String of(MemoryRecord record) {
        if (record.token == 0) {
            return ABSENT;
        }
        String readers = record.readers.entrySet().stream()
                .map(entry -> entry.getKey()
                        + digits(13, entry.getValue().until())
                        + entry.getValue().state().name().charAt(0))
                .collect(Collectors.joining());
        String queue = record.queue.values().stream()
                .map(place -> letter(place.mode())
                        + place.attempt()
                        + digits(13, place.aliveUntil())
                        + digits(6, place.grantMillis())
                        + digits(5, place.tokens()))
                .collect(Collectors.joining());
        return String.join(
                "|",
                "1",
                record.mode.name().toLowerCase(Locale.ROOT),
                record.owner,
                "" + record.token,
                "" + record.first,
                "" + (record.owner.isEmpty() ? 0 : record.ends),
                "" + record.since,
                record.granted ? "1" : isPlain(record) ? "plain" : "0",
                record.previous,
                readers,
                queue);
    }

    private static boolean isPlain(MemoryRecord record) {
        boolean kept = !record.owner.isEmpty() && record.owner.equals(record.previous);
        return record.readers.isEmpty() && record.queue.isEmpty() && !kept;
    }

    private static String digits(int width, long number) {
        String text = Long.toString(number);
        return "0".repeat(Math.max(0, width - text.length())) + text;
    }
}
