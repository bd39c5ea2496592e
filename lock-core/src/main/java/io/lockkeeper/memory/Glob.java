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
        String regex = PART.matcher(glob)
                .replaceAll(part -> Matcher.quoteReplacement(
                        switch (part.group().charAt(0)) {
                            case '*' -> ".*";
                            case '?' -> ".";
                            case '[' -> oneOf(part.group(2), part.group(1));
                            default -> Pattern.quote(part.group(3));
                        }));
        return Pattern.compile(regex, Pattern.DOTALL).asMatchPredicate();
    }

    private static String oneOf(String ranges, String not) {
        String characters = RANGE.matcher(ranges).replaceAll(range -> {
            int one = range.group(1).codePointAt(0);
            int other = range.group(2) == null ? one : range.group(2).codePointAt(0);
            return String.format(Locale.ROOT, "\\\\x{%x}-\\\\x{%x}", Math.min(one, other), Math.max(one, other));
        });
        return !characters.isEmpty() ? "[" + not + characters + "]" : not.isEmpty() ? "(?!)" : ".";
    }
}
