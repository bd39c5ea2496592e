/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;

/** A service as a user has it. */
public class Shop {

    private Runnable work = () -> {};

    /** Says what a body does. */
    public void whileSelling(Runnable body) {
        work = body;
    }

    @DistributedLocked(name = "stock:#{#product}", waitTime = "0s", fallbackMethod = "busy", onLost = LossPolicy.FAIL)
    public String sell(String product) {
        work.run();
        LockContext.current().ifPresent(lease -> lease.ensureHeld());
        return "sold";
    }

    String busy(String product, LockNotAcquiredException held) {
        return "busy";
    }
}
