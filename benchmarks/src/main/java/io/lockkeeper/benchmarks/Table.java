/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Writes tables as Markdown, each with a plot of one of its columns as SVG, and prints them while they come. */
final class Table {

    private final Path folder;
    private final String file;
    private final StringBuilder text = new StringBuilder();
    private String title = "";
    private List<String> columns = List.of();
    private final List<Bar> bars = new ArrayList<>();

    /**
     * Begins a report.
     *
     * @param command the first word after {@code benchmarks/run}, and the name of the file
     */
    Table(String command, Settings settings) {
        file = command + ".md";
        try {
            folder = Files.createDirectories(settings.folder());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        say("`benchmarks/run " + (command + " " + settings).strip() + "`: "
                + Runtime.getRuntime().availableProcessors() + " processors, JDK "
                + Runtime.version().feature() + ", " + LocalDate.now() + ".");
    }

    /** Begins a table. The figures of the first column are plotted. */
    void begin(String newTitle, String explanation, String rows, String... newColumns) {
        title = newTitle;
        columns = List.of(newColumns);
        bars.clear();
        say("\n### " + title + "\n\n" + explanation + " Load of the machine: " + load() + "\n");
        say("| " + rows + " | " + String.join(" | ", columns) + " |");
        say("|---|" + "--:|".repeat(columns.size()));
    }

    void row(String label, boolean ours, double... figures) {
        bars.add(Bar.single(label, figures[0], ours));
        say("| " + label + " | "
                + Arrays.stream(figures).mapToObj(Table::figure).collect(Collectors.joining(" | ")) + " |");
    }

    /** Ends a table with its plot. */
    void plot() {
        String plot = title.replaceAll("[^a-z0-9A-Z]+", "-") + ".svg";
        write(plot, Plot.of(title + ": " + columns.get(0), bars));
        say("\n![" + title + "](" + plot + ")");
    }

    /** Writes the whole report. */
    void end() {
        write(file, text.toString());
        System.out.println("Written to " + folder.toAbsolutePath());
    }

    void say(String line) {
        System.out.println(line);
        text.append(line).append('\n');
    }

    private void write(String name, String content) {
        try {
            Files.writeString(folder.resolve(name), content);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static String figure(double value) {
        if (Double.isNaN(value)) {
            return "";
        }
        boolean whole = value == Math.rint(value) || Math.abs(value) >= 100;
        return String.format(Locale.ROOT, whole ? "%,.0f" : Math.abs(value) < 1 ? "%.3f" : "%.1f", value);
    }

    private static String load() {
        try {
            return Files.readString(Path.of("/proc/loadavg")).strip();
        } catch (IOException unknown) {
            return "unknown";
        }
    }
}
