package io.lockkeeper.memory;

import java.util.regex.Pattern;

/** A glob in the syntax of Redis: {@code *}, {@code ?}, {@code [a-c]}, {@code [^a]}, and a backslash before what is meant as it is. */
final class Glob {

    private final Pattern pattern;

    Glob(String glob) {
        StringBuilder regex = new StringBuilder();
        int i = 0;
        while (i < glob.length()) {
            char c = glob.charAt(i);
            int close = c == '[' ? glob.indexOf(']', i + 1) : -1;
            if (c == '*') {
                regex.append(".*");
            } else if (c == '?') {
                regex.append('.');
            } else if (close > i + 1) {
                regex.append(characters(glob.substring(i + 1, close)));
                i = close;
            } else if (c == '\\' && i + 1 < glob.length()) {
                i++;
                regex.append(Pattern.quote(glob.substring(i, i + 1)));
            } else {
                regex.append(Pattern.quote(String.valueOf(c)));
            }
            i++;
        }
        pattern = Pattern.compile(regex.toString(), Pattern.DOTALL);
    }

    private static String characters(String listed) {
        boolean not = listed.startsWith("^") && listed.length() > 1;
        String escaped = (not ? listed.substring(1) : listed).replaceAll("[\\\\\\[\\]&^]", "\\\\$0");
        return (not ? "[^" : "[") + escaped + "]";
    }

    boolean matches(String text) {
        return pattern.matcher(text).matches();
    }
}
