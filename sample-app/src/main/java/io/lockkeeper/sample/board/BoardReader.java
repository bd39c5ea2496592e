/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockStatus;
import io.lockkeeper.autoconfigure.LockkeeperProperties;
import io.lockkeeper.sample.ShopProperties;
import io.lockkeeper.sample.StockReport;
import io.lockkeeper.sample.Warehouse;
import io.lockkeeper.sample.board.Board.Change;
import io.lockkeeper.sample.board.Board.Holder;
import io.lockkeeper.sample.board.Board.Lock;
import io.lockkeeper.sample.board.Board.Run;
import io.lockkeeper.sample.board.Board.Shop;
import io.lockkeeper.sample.board.Board.Waiter;
import io.lockkeeper.sample.board.InstanceReport.HandOver;
import io.lockkeeper.sample.board.InstanceReport.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Gathers what the page shows: from the database, from Redis, and from what the instances report. */
@Component
class BoardReader {

    private static final int MOST_LOCKS = 10;
    private static final int LAST_ORDERS = 60;

    private final Warehouse warehouse;
    private final LockInspector inspector;
    private final InstanceReports reports;
    private final ShopProperties shop;
    private final Duration lease;

    BoardReader(
            Warehouse warehouse,
            LockInspector inspector,
            InstanceReports reports,
            ShopProperties shop,
            LockkeeperProperties lockkeeper) {
        this.warehouse = warehouse;
        this.inspector = inspector;
        this.reports = reports;
        this.shop = shop;
        this.lease = lockkeeper.leaseTime();
    }

    Board read() {
        List<InstanceReport> running = reports.current();
        StockReport stock = warehouse.report(shop.product());
        return new Board(
                shop.instance(),
                stock,
                lease.toMillis(),
                shops(stock.perInstance(), running),
                runs(warehouse.lastSellers(shop.product(), LAST_ORDERS)),
                statuses().map(status -> lock(status, running)).toList());
    }

    /** Returns the lock of the product first, also where it is free, then the others by name. */
    private Stream<LockStatus> statuses() {
        String ofProduct = "stock:" + shop.product();
        List<LockStatus> found = inspector.find("*", MOST_LOCKS);
        LockStatus first = found.stream()
                .filter(status -> status.name().equals(ofProduct))
                .findFirst()
                .orElseGet(() -> new LockStatus(ofProduct, LockMode.EXCLUSIVE, List.of(), 0, Duration.ZERO, List.of()));
        Stream<LockStatus> others = found.stream()
                .filter(status -> !status.name().equals(ofProduct))
                .sorted(Comparator.comparing(LockStatus::name));
        return Stream.concat(Stream.of(first), others);
    }

    private static List<Shop> shops(Map<String, Integer> orders, List<InstanceReport> running) {
        Stream<Shop> present = running.stream()
                .map(report -> new Shop(
                        report.name(),
                        report.port(),
                        report.pid(),
                        orders.getOrDefault(report.name(), 0),
                        report.handOversPerSecond(),
                        report.passesPerSecond()));
        Stream<Shop> gone = orders.entrySet().stream()
                .filter(sold ->
                        running.stream().noneMatch(report -> report.name().equals(sold.getKey())))
                .map(sold -> new Shop(sold.getKey(), null, null, sold.getValue(), 0, 0));
        return Stream.concat(present, gone)
                .sorted(Comparator.comparing(Shop::name))
                .toList();
    }

    private static List<Run> runs(List<String> sellers) {
        List<Run> runs = new ArrayList<>();
        for (String seller : sellers) {
            int last = runs.size() - 1;
            if (last >= 0 && runs.get(last).shop().equals(seller)) {
                runs.set(last, new Run(seller, runs.get(last).orders() + 1));
            } else {
                runs.add(new Run(seller, 1));
            }
        }
        return runs;
    }

    private static Lock lock(LockStatus status, List<InstanceReport> running) {
        List<Holder> holders = status.holders().stream()
                .map(holder -> new Holder(holder.application(), holder.host(), holder.pid()))
                .distinct()
                .toList();
        return new Lock(
                status.name(),
                status.mode(),
                holders,
                String.valueOf(token(status, running)),
                status.remaining().toMillis(),
                waiters(status, running),
                lastChange(status.name(), running));
    }

    /** Returns the token that the holder really has: Redis knows the last one of those set aside for it. */
    private static long token(LockStatus status, List<InstanceReport> running) {
        return status.holders().stream()
                .flatMap(holder -> report(holder, running).stream())
                .map(report -> report.held().get(status.name()))
                .filter(Objects::nonNull)
                .max(Comparator.naturalOrder())
                .orElse(status.fencingToken());
    }

    /** Returns who waits: inside the holders, who pass the lock on without Redis, then in the order of the queue. */
    private static List<Waiter> waiters(LockStatus status, List<InstanceReport> running) {
        Map<LockInstance, Boolean> inside = new LinkedHashMap<>();
        status.holders().stream()
                .filter(holder -> report(holder, running)
                        .map(report -> waits(status.name(), report) != null)
                        .orElse(false))
                .forEach(holder -> inside.put(holder, true));
        status.waiters().forEach(waiter -> inside.putIfAbsent(waiter, false));
        return inside.entrySet().stream()
                .map(waiter -> waiter(status.name(), waiter.getKey(), waiter.getValue(), running))
                .toList();
    }

    private static Waiter waiter(String lock, LockInstance instance, boolean inside, List<InstanceReport> running) {
        Waits waits =
                report(instance, running).map(report -> waits(lock, report)).orElse(null);
        return new Waiter(
                instance.application(),
                instance.host(),
                instance.pid(),
                waits == null ? null : waits.mode(),
                waits == null ? null : waits.callers(),
                waits == null ? null : waits.longestMillis(),
                inside);
    }

    private static @Nullable Waits waits(String lock, InstanceReport report) {
        return report.waits().stream()
                .filter(waits -> waits.lock().equals(lock))
                .max(Comparator.comparing(Waits::longestMillis))
                .orElse(null);
    }

    private static Optional<InstanceReport> report(LockInstance instance, List<InstanceReport> running) {
        return running.stream().filter(report -> report.isOf(instance)).findFirst();
    }

    private static @Nullable Change lastChange(String lock, List<InstanceReport> running) {
        Change last = null;
        long highest = 0;
        for (InstanceReport report : running) {
            for (HandOver handOver : report.handOvers()) {
                if (handOver.lock().equals(lock) && handOver.token() > highest) {
                    highest = handOver.token();
                    long ago = Math.max(0, System.currentTimeMillis() - handOver.at());
                    last = new Change(report.name(), handOver.waitedMillis(), ago);
                }
            }
        }
        return last;
    }
}
