/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * What came of a run.
 *
 * @param violations what must never be
 * @param unexplainedLosses leases that were lost although nothing was wrong
 * @param acquisitions how many leases were given, by form
 * @param ways how many leases came in which way
 * @param faults how often each fault was done
 * @param text all of it and more, for people
 */
record TortureReport(
        List<String> violations,
        List<Hold> unexplainedLosses,
        Map<String, Long> acquisitions,
        Map<String, Long> ways,
        Map<FaultKind, Integer> faults,
        String text) {

    static TortureReport of(
            TortureSettings settings,
            History history,
            Collection<Window> troubles,
            Nemesis nemesis,
            Register register,
            List<String> leftovers) {
        HistoryChecker checker = new HistoryChecker(history, troubles, settings.lease());
        List<String> violations = new ArrayList<>(checker.violations());
        violations.addAll(register.violations());
        violations.addAll(leftovers);
        nemesis.failures().forEach(failure -> violations.add("A fault could not be done: " + failure));
        history.workersWithoutLease(settings.workers(), 0)
                .forEach(name -> violations.add("There was no lease of " + name));
        List<Hold> unexplained = checker.unexplainedLosses();
        Map<String, Long> acquisitions = count(history, hold -> hold.form);
        Map<String, Long> ways = count(history, Hold::way);
        StringBuilder text = new StringBuilder();
        text.append("seed ").append(settings.seed());
        text.append(", ").append(settings.total().toSeconds()).append(" s\n");
        line(text, "faults", nemesis.done());
        line(text, "requests", history.holds().size());
        line(text, "acquisitions", acquisitions);
        line(text, "ways (where known)", ways);
        line(text, "results", results(history));
        line(text, "register", register.accepted() + " writes, " + register.refused() + " stale accesses refused");
        line(text, "longest wait", checker.longestWait().toMillis() + " ms");
        line(text, "troubled time", troubled(troubles, settings) + " % of each worker's");
        line(text, "losses explained", checker.explainedLosses().size());
        line(text, "losses unexplained", unexplained.size());
        line(text, "violations", violations.size());
        violations.stream()
                .limit(20)
                .forEach(violation -> text.append("  ").append(violation).append('\n'));
        unexplained.stream().limit(20).forEach(hold -> text.append("  lost: ")
                .append(hold)
                .append(hold.lossReason())
                .append('\n'));
        return new TortureReport(violations, unexplained, acquisitions, ways, nemesis.done(), text.toString());
    }

    private static void line(StringBuilder text, String what, Object value) {
        text.append("%-20s %s%n".formatted(what, value));
    }

    private static Map<String, Long> count(History history, Function<Hold, String> by) {
        return history.holds().stream()
                .filter(Hold::isHeld)
                .collect(Collectors.groupingBy(by, TreeMap::new, Collectors.counting()));
    }

    private static Map<String, Long> results(History history) {
        return history.holds().stream()
                .collect(Collectors.groupingBy(Hold::result, TreeMap::new, Collectors.counting()));
    }

    /** How much of the run something was wrong with a worker, on the average. */
    private static long troubled(Collection<Window> troubles, TortureSettings settings) {
        long covered = 0;
        for (int i = 0; i < settings.workers(); i++) {
            String worker = WorkerProcess.name(i);
            long reached = Long.MIN_VALUE;
            for (Window trouble : troubles.stream()
                    .filter(window -> window.concerns(worker))
                    .sorted(Comparator.comparingLong(Window::from))
                    .toList()) {
                covered += Math.max(0, trouble.to() - Math.max(reached, trouble.from()));
                reached = Math.max(reached, trouble.to());
            }
        }
        return 100 * covered / Math.max(1, settings.total().toNanos() * settings.workers());
    }
}
