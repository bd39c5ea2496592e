/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Several JVMs that lock through faulty networks, and a nemesis. Each has a proxy of its own in front of one server.
 */
final class TortureRun implements AutoCloseable {

    private static final Duration CALM = Duration.ofSeconds(1);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final TortureSettings settings;
    private final Path histories;
    private final RedisServer server = RedisServer.start();
    private final Register register;
    private final List<FaultProxy> networks = new ArrayList<>();
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final Nemesis nemesis;
    private final Pulse pulse;

    TortureRun(TortureSettings settings) {
        this.settings = settings;
        this.register = new Register(settings.sabotage() != TortureSettings.Sabotage.UNGUARDED_REGISTER);
        try {
            histories = Files.createTempDirectory("lockkeeper-torture");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (int i = 0; i < settings.workers(); i++) {
            FaultProxy network = FaultProxy.inFrontOf(server);
            networks.add(network);
            workers.add(new WorkerProcess(
                    i, TortureWorker.class, "" + network.port(), register.port(), histories, settings));
        }
        nemesis = new Nemesis(server, networks, workers);
        pulse = new Pulse(server);
    }

    /** Runs to the end, and judges what happened. */
    TortureReport run() {
        workers.forEach(WorkerProcess::awaitReady);
        Future<?> faults = nemesis.carryOut(plan(settings));
        try {
            faults.get(settings.total().toSeconds() + 60, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new IllegalStateException("The nemesis has not finished", e);
        }
        LockSupport.parkNanos(CALM.toNanos());
        workers.forEach(WorkerProcess::stop);
        workers.forEach(WorkerProcess::awaitClosed);
        List<String> leftovers = new Leftovers(server, settings).find();
        for (WorkerProcess worker : workers) {
            String left = worker.awaitStopped();
            if (!left.equals("[]")) {
                leftovers.add(left + "\n" + worker.output());
            }
        }
        return report(leftovers);
    }

    /** Runs until a violation is noticed, at most for the whole time. */
    TortureReport runUntil(Predicate<String> violation) {
        workers.forEach(WorkerProcess::awaitReady);
        Future<?> faults = nemesis.carryOut(plan(settings));
        TortureReport report = report(List.of());
        long end = System.nanoTime() + settings.total().toNanos();
        while (report.violations().stream().noneMatch(violation) && System.nanoTime() < end) {
            LockSupport.parkNanos(LOOK_NANOS);
            report = report(List.of());
        }
        faults.cancel(false);
        return report;
    }

    static List<PlannedFault> plan(TortureSettings settings) {
        return PlannedFault.draw(
                settings.seed(), settings.faults(), settings.workers(), settings.lease(), settings.total());
    }

    private TortureReport report(List<String> leftovers) {
        List<Window> troubles = new ArrayList<>(nemesis.windows());
        troubles.addAll(pulse.stalls());
        return TortureReport.of(settings, History.of(histories), troubles, nemesis, register, leftovers);
    }

    @Override
    public void close() {
        nemesis.close();
        pulse.close();
        workers.forEach(WorkerProcess::close);
        networks.forEach(FaultProxy::close);
        register.close();
        server.close();
        try (Stream<Path> files = Files.walk(histories)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
