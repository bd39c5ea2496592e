/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockWait;
import io.lockkeeper.sample.ShopProperties;
import io.lockkeeper.sample.board.HandOvers.Rates;
import io.lockkeeper.sample.board.InstanceReport.Waits;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.core.env.Environment;
import org.springframework.dao.DataAccessException;
import org.springframework.stereotype.Component;

/** Tells the other instances about this one. */
@Component
class Reporter implements DisposableBean {

    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(1);
    private static final int MOST_NAMES = 20;

    private final LockInspector inspector;
    private final HandOvers handOvers;
    private final InstanceReports reports;
    private final String name;
    private final Environment environment;
    private @Nullable InstanceReport told;
    private long toldNanos;

    Reporter(
            LockInspector inspector,
            HandOvers handOvers,
            InstanceReports reports,
            ShopProperties shop,
            Environment environment) {
        this.inspector = inspector;
        this.handOvers = handOvers;
        this.reports = reports;
        this.name = shop.instance();
        this.environment = environment;
    }

    /** Tells what has changed; and that the instance is there, once a second. */
    synchronized void tell() {
        InstanceReport report = report();
        long now = System.nanoTime();
        if (!report.equals(told) || now - toldNanos >= LONGEST_SILENCE.toNanos()) {
            reports.publish(report);
            told = report;
            toldNanos = now;
        }
    }

    @Override
    public void destroy() {
        try {
            reports.withdraw(name);
        } catch (DataAccessException databaseGone) {
            // The report is too old in five seconds anyway
        }
    }

    private InstanceReport report() {
        Rates rates = handOvers.rates();
        Map<String, Long> held = inspector.heldHere().stream()
                .limit(MOST_NAMES)
                .collect(Collectors.toMap(LockStatus::name, LockStatus::fencingToken));
        return new InstanceReport(
                name,
                ProcessHandle.current().pid(),
                environment.getProperty("local.server.port", Integer.class, 0),
                waits(inspector.waitingHere()),
                held,
                rates.fromOthers(),
                rates.withinInstance(),
                handOvers.last());
    }

    private static List<Waits> waits(List<LockWait> waiting) {
        Map<String, Waits> waits = new LinkedHashMap<>();
        for (LockWait wait : waiting) {
            for (String lock : wait.names()) {
                Waits one = new Waits(lock, wait.mode(), 1, wait.waited().toMillis());
                waits.merge(lock + " " + wait.mode(), one, Reporter::together);
            }
        }
        return waits.values().stream().limit(MOST_NAMES).toList();
    }

    private static Waits together(Waits a, Waits b) {
        return new Waits(a.lock(), a.mode(), a.callers() + b.callers(), Math.max(a.longestMillis(), b.longestMillis()));
    }
}
