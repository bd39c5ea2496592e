/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

/**
 * A glob as Redis understands it: {@code *}, {@code ?}, {@code [a-c]}, {@code [^a]}, and a backslash before what is meant
 * as it is. Nothing is an error: the ends of a range may come in any order, a class may lack its end.
 */
final class Glob {

    private final String pattern;

    Glob(String pattern) {
        this.pattern = pattern;
    }

    boolean matches(String text) {
        return matches(0, text, 0);
    }

    private boolean matches(int from, String text, int start) {
        int p = from;
        int t = start;
        while (p < pattern.length()) {
            char c = pattern.charAt(p);
            if (c == '*') {
                return matchesRest(p + 1, text, t);
            }
            if (t == text.length()) {
                return false;
            }
            int end = c == '[' ? classEnd(p) : p;
            if (c == '[' && !isInClass(p + 1, end, text.charAt(t))) {
                return false;
            }
            if (c == '\\' && p + 1 < pattern.length()) {
                end = p + 1;
                c = pattern.charAt(end);
            }
            if (c != '[' && c != text.charAt(t) && !(c == '?' && end == p)) {
                return false;
            }
            p = end + 1;
            t++;
        }
        return t == text.length();
    }

    private boolean matchesRest(int from, String text, int start) {
        for (int t = start; t <= text.length(); t++) {
            if (matches(from, text, t)) {
                return true;
            }
        }
        return false;
    }

    /** Returns where a class ends: at its bracket, or at the end of the pattern. */
    private int classEnd(int begin) {
        int p = begin + 1;
        while (p < pattern.length() && pattern.charAt(p) != ']') {
            p += pattern.charAt(p) == '\\' ? 2 : 1;
        }
        return Math.min(p, pattern.length());
    }

    private boolean isInClass(int begin, int end, char sought) {
        boolean not = begin < end && pattern.charAt(begin) == '^';
        boolean found = false;
        int p = not ? begin + 1 : begin;
        while (p < end) {
            char low = pattern.charAt(p);
            if (low == '\\' && p + 1 < end) {
                p++;
                low = pattern.charAt(p);
            }
            char high = low;
            if (p + 2 < end && pattern.charAt(p + 1) == '-') {
                high = pattern.charAt(p + 2);
                p += 2;
            }
            found |= sought >= Math.min(low, high) && sought <= Math.max(low, high);
            p++;
        }
        return found != not;
    }
}
