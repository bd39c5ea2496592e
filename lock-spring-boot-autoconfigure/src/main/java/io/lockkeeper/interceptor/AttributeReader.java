/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

/** Reads the text attributes of the annotation: resolves their placeholders, and parses durations. */
record AttributeReader(Function<String, @Nullable String> resolver) {

    private static final Pattern NUMBER = Pattern.compile("[+-]?\\d+");

    /** Returns a text with its placeholders resolved; null after a fault. */
    @Nullable
    String text(String attribute, String written, Faults faults) {
        if (!written.contains("${")) {
            return written;
        }
        String reason = "'" + written + "' has a placeholder without a value";
        try {
            String resolved = resolver.apply(written);
            if (resolved == null) {
                return "";
            }
            // An escaped placeholder is meant as text.
            if (!resolved.contains("${") || written.contains("\\${")) {
                return resolved;
            }
        } catch (IllegalArgumentException unresolved) {
            reason = "'" + written + "' cannot be resolved (" + unresolved.getMessage() + ")";
        }
        faults.add(attribute, reason, "Set the property, or give a default as in ${some.property:default}");
        return null;
    }

    /** Returns the name of a method or bean; empty where none is written, or after a fault. */
    String name(String attribute, String written, Faults faults) {
        String resolved = text(attribute, written, faults);
        return resolved == null ? "" : resolved.strip();
    }

    /** Returns a duration; null where none is written, or after a fault. */
    @Nullable
    Duration duration(String attribute, String written, Duration least, Faults faults) {
        String resolved = name(attribute, written, faults);
        if (resolved.isEmpty()) {
            return null;
        }
        String shown =
                resolved.equals(written) ? "'" + written + "'" : "'" + written + "', which is '" + resolved + "',";
        if (NUMBER.matcher(resolved).matches() && !resolved.equals("0") && !resolved.startsWith("-")) {
            faults.add(
                    attribute,
                    shown + " has no unit",
                    "Write " + resolved + "ms for milliseconds or " + resolved + "s for seconds");
            return null;
        }
        try {
            // Of a bare number, only the sign matters here: the -1 of other libraries is too short in every unit.
            Duration duration = DurationFormatterUtils.detectAndParse(resolved);
            if (duration.compareTo(least) >= 0) {
                return duration;
            }
            faults.add(
                    attribute,
                    shown + " is too short",
                    least.isZero()
                            ? "Write zero or more, or leave it out"
                            : "Write " + least.toMillis() + "ms or more, or leave it out: the lease is then renewed"
                                    + " until the method ends");
        } catch (IllegalArgumentException | ArithmeticException | DateTimeException unreadable) {
            faults.add(attribute, shown + " is not a duration", "Write a number with a unit, as in 2s, 500ms or PT2S");
        }
        return null;
    }
}
