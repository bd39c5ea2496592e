/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Keeps what a listener hears. */
final class Events implements LockListener {

    final List<Acquired> acquired = new ArrayList<>();
    final List<Released> released = new ArrayList<>();
    final List<Lost> lost = new ArrayList<>();
    final List<Renewed> renewed = new ArrayList<>();
    final List<RenewalFailed> failedRenewals = new ArrayList<>();

    /** Hears of downgrades at once. */
    Consumer<Downgraded> uponDowngrade = event -> {};

    @Override
    public void onAcquired(Acquired event) {
        acquired.add(event);
    }

    @Override
    public void onReleased(Released event) {
        released.add(event);
    }

    @Override
    public void onLost(Lost event) {
        lost.add(event);
    }

    @Override
    public void onRenewed(Renewed event) {
        renewed.add(event);
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        failedRenewals.add(event);
    }

    @Override
    public void onDowngraded(Downgraded event) {
        uponDowngrade.accept(event);
    }
}
