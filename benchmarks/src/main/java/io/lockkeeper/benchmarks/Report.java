/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;
import java.util.Locale;

/** Writes the tables as Markdown and a plot of each as SVG, and prints the tables while they come. */
final class Report {

    private final Path folder;
    private final StringBuilder text = new StringBuilder();

    Report(Comparison.Options options, String arguments) throws IOException {
        folder = Files.createDirectories(options.out());
        say("`benchmarks/run " + arguments + "`: " + options.rounds() + " rounds of " + options.millis()
                + " ms for each peer, interleaved, " + Runtime.getRuntime().availableProcessors() + " processors, JDK "
                + Runtime.version().feature() + ", " + LocalDate.now() + ".\n");
    }

    void add(Cell cell, List<Figures> figures) throws IOException {
        String plot = cell.title().replaceAll("[^a-z0-9A-Z]+", "-") + ".svg";
        Files.writeString(
                folder.resolve(plot),
                Plot.of(
                        cell.title() + ": acquisitions a second",
                        figures.stream().map(Bar::of).toList()));
        say("\n### " + cell.title() + "\n\nLoad of the machine: " + load() + "\n");
        say("| peer | acq/s | least - most | wait p50 us | p99 us | hand-over p50 us | p99 us | requests |"
                + " commands | Redis CPU us | client CPU us | Jain | overlaps |");
        say("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        for (Figures one : figures) {
            say(row(one, cell.processes() > 1));
        }
        say("\n![" + cell.title() + "](" + plot + ")");
    }

    private static String row(Figures one, boolean handOvers) {
        return String.format(
                Locale.ROOT,
                "| %s | %,.0f | %,.0f - %,.0f | %,.0f | %,.0f | %s | %s | %.2f | %.1f | %.0f | %.0f | %.3f | %d |",
                one.peer.title(),
                one.median(Outcome::perSecond),
                one.smallest(Outcome::perSecond),
                one.largest(Outcome::perSecond),
                one.median(round -> Outcome.micros(round.waits(), 0.5)),
                one.median(round -> Outcome.micros(round.waits(), 0.99)),
                handOvers ? micros(one, 0.5) : "",
                handOvers ? micros(one, 0.99) : "",
                one.requests,
                one.commands,
                one.median(Outcome::serverMicros),
                one.median(Outcome::clientMicros),
                one.median(Outcome::jain),
                one.overlaps);
    }

    private static String micros(Figures one, double quantile) {
        double time = one.median(round -> Outcome.micros(round.handovers(), quantile));
        return Double.isNaN(time) ? "" : String.format(Locale.ROOT, "%,.0f", time);
    }

    private static String load() {
        try {
            return Files.readString(Path.of("/proc/loadavg")).strip();
        } catch (IOException unknown) {
            return "unknown";
        }
    }

    void end() throws IOException {
        Files.writeString(folder.resolve("comparison.md"), text);
        System.out.println("Written to " + folder.toAbsolutePath());
    }

    private void say(String line) {
        System.out.println(line);
        text.append(line).append('\n');
    }
}
