/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Gives up the place of a caller that ends its future. This runs on the thread of the caller, whatever room that has; the
 * cancellation of an acquisition that has its outcome has no effect.
 */
final class Withdrawal extends Recovery.Task implements BiConsumer<@Nullable Object, @Nullable Throwable> {

    private final CompletableFuture<?> acquisition;
    private final Recovery recovery;

    Withdrawal(CompletableFuture<?> acquisition, Recovery recovery) {
        this.acquisition = acquisition;
        this.recovery = recovery;
    }

    @Override
    public void accept(@Nullable Object value, @Nullable Throwable failure) {
        if (StackRoom.isEnough()) {
            acquisition.cancel(false);
            return;
        }
        // Without a call: there is no room for one.
        synchronized (recovery) {
            if (!noted) {
                noted = true;
                next = recovery.first;
                recovery.first = this;
            }
        }
    }

    @Override
    void recover() {
        acquisition.cancel(false);
    }
}
