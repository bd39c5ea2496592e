/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

/** Reads the durations of the annotation. */
final class DurationAttributes {

    private static final Pattern NUMBER = Pattern.compile("[+-]?\\d+");

    private final Placeholders placeholders;

    DurationAttributes(Placeholders placeholders) {
        this.placeholders = placeholders;
    }

    /**
     * Reads a duration.
     *
     * @param attribute the attribute's name, for the fault
     * @param text what is written
     * @param least the shortest duration that makes sense
     * @param faults receives what is wrong
     * @return the duration; null where none is written, or after a fault
     */
    @Nullable
    Duration read(String attribute, String text, Duration least, Faults faults) {
        String resolved = placeholders.resolve(attribute, text, faults);
        if (resolved == null || resolved.isBlank()) {
            return null;
        }
        String shown = resolved.equals(text) ? "'" + text + "'" : "'" + text + "', which is '" + resolved + "',";
        Duration duration = parse(attribute, resolved.strip(), shown, faults);
        if (duration != null && duration.compareTo(least) < 0) {
            faults.add(
                    attribute,
                    shown + " is too short",
                    least.isZero()
                            ? "Write zero or more, or leave it out"
                            : "Write " + least.toMillis() + "ms or more, or leave it out");
            return null;
        }
        return duration;
    }

    private static @Nullable Duration parse(String attribute, String text, String shown, Faults faults) {
        if (text.equals("0")) {
            return Duration.ZERO;
        }
        if (NUMBER.matcher(text).matches() && text.startsWith("-")) {
            // Such as the -1 of other libraries: in no unit is it long enough.
            return Duration.ofMillis(-1);
        }
        if (NUMBER.matcher(text).matches()) {
            faults.add(
                    attribute,
                    shown + " has no unit",
                    "Write " + text + "ms for milliseconds or " + text + "s for seconds");
            return null;
        }
        try {
            return DurationFormatterUtils.detectAndParse(text);
        } catch (IllegalArgumentException | ArithmeticException | DateTimeException unreadable) {
            faults.add(attribute, shown + " is not a duration", "Write a number with a unit, as in 2s, 500ms or PT2S");
            return null;
        }
    }
}
