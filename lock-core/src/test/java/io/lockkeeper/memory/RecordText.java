/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.store.ClaimMode;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** The record of the model as the text that the script's record has in Redis, field by field. */
final class RecordText {

    private static final String NONE = "-".repeat(20);

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
        String state = !owned ? "-" : record.granted ? "G" : record.kept ? "K" : "H";
        String lease = owned
                ? " " + record.owner + " " + digits(5, record.token - record.first + 1) + " "
                        + digits(13, record.ends - record.started / 1_000) + " " + digits(16, record.started)
                : "";
        boolean plain = record.readers.isEmpty() && record.queue.isEmpty();
        String queue = plain
                ? ""
                : " %d %d %d %d %d"
                        .formatted(
                                record.head,
                                record.tail,
                                record.queue.size(),
                                record.latest,
                                record.gone.isEmpty() ? 0 : 1);
        return "3" + state + (record.previousRevoked ? "R " : "- ") + letter(record.mode) + " "
                + digits(16, record.since) + " "
                + digits(16, owned ? record.first : record.token) + " "
                + (record.previous.isEmpty() ? NONE : record.previous) + lease + queue;
    }

    private static String digits(int width, long number) {
        String text = Long.toString(number);
        return "0".repeat(Math.max(0, width - text.length())) + text;
    }
}
