/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.Comparator;
import java.util.Locale;
import java.util.stream.Stream;

/** Finds the name that a misspelt one was meant to be. */
final class Similar {

    private Similar() {}

    /**
     * Asks whether the most similar name was meant.
     *
     * @param written the name that is wrong
     * @param names the names that would be right
     * @return a question after a comma; empty where none is similar
     */
    static String to(String written, Stream<String> names) {
        int most = Math.max(1, written.length() / 3);
        return names.filter(name -> distance(written, name) <= most)
                .min(Comparator.comparingInt((String name) -> distance(written, name))
                        .thenComparing(Comparator.naturalOrder()))
                .map(name -> ", did you mean " + name + "?")
                .orElse("");
    }

    /** Returns how many letters are to be added, left out or replaced, whatever their case (Levenshtein). */
    private static int distance(String first, String second) {
        String a = first.toLowerCase(Locale.ROOT);
        String b = second.toLowerCase(Locale.ROOT);
        int[] above = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            above[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int[] row = new int[b.length() + 1];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = above[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, Math.min(above[j], row[j - 1]) + 1);
            }
            above = row;
        }
        return above[b.length()];
    }
}
