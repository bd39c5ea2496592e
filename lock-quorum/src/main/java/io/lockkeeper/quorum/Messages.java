/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreListener;

/**
 * What a master tells. Only a revocation concerns the engine, and already that by one master: a holder that stops too early
 * does no harm. Everything else is about attempts that wait in a queue, where none of ours does.
 */
record Messages(StoreListener listener) implements StoreListener {

    @Override
    public void granted(Grant grant) {}

    @Override
    public void revoked(String attempt) {
        listener.revoked(attempt);
    }

    @Override
    public void freeIn(String attempt, long remainingMillis) {}

    @Override
    public void channelRestored() {}
}
