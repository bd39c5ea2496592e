/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.ClaimMode;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The record of the model as the text that the script's record has in Redis, field by field. */
final class RecordText {

    private static final String NONE = "-".repeat(20);

    /** The model has no keys that live or not. */
    private static final String LIFE = "0".repeat(9);

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
        Map<String, String> fields = new HashMap<>();
        fields.put("lock", lock(record));
        fields.put("hold", hold(record));
        String readers = record.readers.entrySet().stream()
                .map(entry -> entry.getKey()
                        + digits(13, entry.getValue().until())
                        + entry.getValue().state().name().charAt(0))
                .collect(Collectors.joining());
        if (!readers.isEmpty()) {
            fields.put("readers", readers);
        }
        record.gone.forEach((client, number) -> fields.put(client, "" + number));
        record.queue.values().forEach(place -> {
            fields.put(place.attempt(), "" + place.number());
            fields.put(
                    "" + place.number(),
                    letter(place.mode())
                            + place.attempt()
                            + digits(13, place.aliveUntil())
                            + digits(13, place.grantMillis())
                            + digits(5, place.tokens()));
        });
        return fields.entrySet().stream()
                .map(field -> field.getKey() + "=" + field.getValue())
                .sorted()
                .collect(Collectors.joining("|"));
    }

    private static String lock(MemoryRecord record) {
        boolean owned = !record.owner.isEmpty();
        String queue = record.queue.isEmpty()
                ? ""
                : " %d %d %d %d %d"
                        .formatted(
                                record.head,
                                record.tail,
                                record.queue.size(),
                                record.latest,
                                record.gone.isEmpty() ? 0 : 1);
        String state = owned ? "O" : record.readers.isEmpty() ? "-" : "R";
        if (record.previousRevoked) {
            state = state.equals("-") ? "~" : state.toLowerCase(Locale.ROOT);
        }
        return "4" + state + letter(record.mode)
                + digits(16, record.since)
                + digits(16, owned ? record.first : record.token)
                + (owned ? digits(9, record.token - record.first + 1) : LIFE)
                + (record.previous.isEmpty() ? NONE : record.previous) + queue;
    }

    private static String hold(MemoryRecord record) {
        boolean owned = !record.owner.isEmpty();
        String state = !owned ? "-" : record.granted ? "G" : record.kept ? "K" : "H";
        return "4" + state + (owned ? record.owner : NONE) + " "
                + digits(13, owned ? record.ends - record.started / 1_000 : 0) + " "
                + digits(16, owned ? record.started : 0) + " " + LIFE;
    }

    private static String digits(int width, long number) {
        String text = Long.toString(number);
        return "0".repeat(Math.max(0, width - text.length())) + text;
    }
}
