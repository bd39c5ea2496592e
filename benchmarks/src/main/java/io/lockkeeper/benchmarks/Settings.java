/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * What a run was started with: names, each followed by its value.
 *
 * @param arguments as they were written
 */
record Settings(List<String> arguments) {

    static Settings of(String[] arguments) {
        return new Settings(List.of(arguments));
    }

    String text(String name, String otherwise) {
        int index = arguments.indexOf(name);
        return index < 0 ? otherwise : arguments.get(index + 1);
    }

    int number(String name, int otherwise) {
        return Integer.parseInt(text(name, "" + otherwise));
    }

    List<Integer> numbers(String name, String otherwise) {
        return Arrays.stream(text(name, otherwise).split(","))
                .map(Integer::valueOf)
                .toList();
    }

    /**
     * Returns whether one of the parts that a setting names is a part of a title; where it is not set, all are wanted.
     */
    boolean takes(String name, String title) {
        return Arrays.stream(text(name, "").split(",")).anyMatch(title::contains);
    }

    Path folder() {
        return Path.of(text("--out", "benchmarks/target/comparison"));
    }

    @Override
    public String toString() {
        return String.join(" ", arguments);
    }
}
