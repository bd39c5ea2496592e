/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import java.util.Locale;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A glob as Redis understands it: {@code *}, {@code ?}, {@code [a-c]}, {@code [^a]}, and a backslash before what is
 * meant as it is. Nothing is an error: the ends of a range may come in any order, a class may lack its end.
 */
final class Glob {

    private static final String CHARACTER = "\\\\?(.)";
    private static final Pattern PART =
            Pattern.compile("[*?]|\\[(\\^?)((?:\\\\.|[^]\\\\])*\\\\?)(?:]|$)|" + CHARACTER, Pattern.DOTALL);
    private static final Pattern RANGE = Pattern.compile(CHARACTER + "(?:-(.))?", Pattern.DOTALL);

    private Glob() {}

    static Predicate<String> of(String glob) {
        StringBuilder regex = new StringBuilder();
        for (Matcher part = PART.matcher(glob); part.find(); ) {
            regex.append(
                    switch (part.group().charAt(0)) {
                        case '*' -> ".*";
                        case '?' -> ".";
                        case '[' -> oneOf(part.group(2), !part.group(1).isEmpty());
                        default -> Pattern.quote(part.group(3));
                    });
        }
        return Pattern.compile(regex.toString(), Pattern.DOTALL).asMatchPredicate();
    }

    private static String oneOf(String ranges, boolean not) {
        StringBuilder characters = new StringBuilder();
        for (Matcher range = RANGE.matcher(ranges); range.find(); ) {
            int low = range.group(1).codePointAt(0);
            int high = range.group(2) == null ? low : range.group(2).codePointAt(0);
            characters.append(String.format(Locale.ROOT, "\\x{%x}-\\x{%x}", Math.min(low, high), Math.max(low, high)));
        }
        return characters.isEmpty() ? not ? "." : "(?!)" : "[" + (not ? "^" : "") + characters + "]";
    }
}
