/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample.board;

import io.lockkeeper.LockMode;
import io.lockkeeper.sample.StockReport;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the page shows, at one moment.
 *
 * @param servedBy the instance that tells it
 * @param stock how the sale stands
 * @param leaseMillis how long a lease is
 * @param shops the instances that run, and those that have sold and run no more
 * @param lastOrders who took the last orders, the newest first
 * @param locks the locks: the one of the product, and others that are held or waited for
 */
record Board(
        String servedBy,
        StockReport stock,
        long leaseMillis,
        List<Shop> shops,
        List<Run> lastOrders,
        List<Lock> locks) {

    /** An instance; port and process id are null where it does not run. */
    record Shop(
            String name,
            @Nullable Integer port,
            @Nullable Long pid,
            int orders,
            double handOversPerSecond,
            double passesPerSecond) {}

    /** Orders one after another that the same instance took. */
    record Run(String shop, int orders) {}

    /** A lock; the token is a text, for a browser's numbers may be too short. */
    record Lock(
            String name,
            LockMode mode,
            List<Holder> holders,
            String token,
            long remainingMillis,
            List<Waiter> waiters,
            @Nullable Change lastChange) {}

    /** Who holds a lock. */
    record Holder(String name, String host, long pid) {}

    /**
     * An instance whose callers wait for a lock. Mode, number and time are null where it is none of the shop's.
     *
     * @param inside whether they wait inside the instance that holds it, and not in Redis
     */
    record Waiter(
            String name,
            String host,
            long pid,
            @Nullable LockMode mode,
            @Nullable Integer callers,
            @Nullable Long waitedMillis,
            boolean inside) {}

    /** The last time that a lock went from one instance to another. */
    record Change(String to, long waitedMillis, long agoMillis) {}
}
