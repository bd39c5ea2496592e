/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Collects what is wrong with one method. */
final class Faults {

    private final AnnotatedMethod method;
    private final List<DistributedLockedFault> found = new ArrayList<>(0);

    Faults(AnnotatedMethod method) {
        this.method = method;
    }

    /** Returns what a check finds wrong with methods. */
    static List<DistributedLockedFault> of(
            Collection<AnnotatedMethod> methods, BiConsumer<AnnotatedMethod, Faults> check) {
        List<DistributedLockedFault> all = new ArrayList<>(0);
        for (AnnotatedMethod each : methods) {
            Faults faults = new Faults(each);
            check.accept(each, faults);
            all.addAll(faults.found);
        }
        return all;
    }

    void add(String problem, String remedy) {
        add("", problem, remedy);
    }

    void add(String attribute, String problem, String remedy) {
        found.add(new DistributedLockedFault(method.declaringClass(), method.signature(), attribute, problem, remedy));
    }

    /** Asks, after a comma, whether the most similar of the right names was meant; empty where none is. */
    static String similar(String written, Stream<String> names) {
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
        int[] row = IntStream.rangeClosed(0, b.length()).toArray();
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(diagonal, row[j - 1]) + 1);
            }
        }
        return row[b.length()];
    }

    boolean isEmpty() {
        return found.isEmpty();
    }

    List<DistributedLockedFault> found() {
        return List.copyOf(found);
    }
}
