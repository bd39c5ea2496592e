/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockListener;
import java.time.Instant;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Remembers how renewals go. */
final class RenewalWatch implements LockListener {

    private final Set<Set<String>> failing = ConcurrentHashMap.newKeySet();
    private volatile @Nullable Instant lastRenewal;

    /** Returns when a lease was renewed; null: none has been. */
    @Nullable
    Instant lastRenewal() {
        return lastRenewal;
    }

    /** Returns the number of holds whose last renewal failed. */
    int failing() {
        return failing.size();
    }

    @Override
    public void onRenewed(Renewed event) {
        lastRenewal = Instant.now();
        forget(event.names());
    }

    @Override
    public void onRenewalFailed(RenewalFailed event) {
        failing.add(Set.copyOf(event.names()));
    }

    @Override
    public void onReleased(Released event) {
        forget(event.request().names());
    }

    @Override
    public void onLost(Lost event) {
        forget(event.request().names());
    }

    private void forget(Collection<String> names) {
        if (!failing.isEmpty()) {
            failing.remove(Set.copyOf(names));
        }
    }
}
