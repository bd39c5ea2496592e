/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells a callback of a loss. What it throws concerns nobody else. */
record LossCall(Consumer<LockLostException> callback, LockLostException lost) implements Runnable {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    @Override
    public void run() {
        try {
            callback.accept(lost);
        } catch (Throwable failure) {
            log.error("The callback for the loss of lock '{}' failed", lost.name(), failure);
        }
    }
}
