/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Holds a product's lock and does nothing, so that you can kill the instance which holds it, or take it away. */
@RestController
class HoldController {

    private static final Logger log = LoggerFactory.getLogger(HoldController.class);

    private final LockTemplate locks;
    private final String instance;
    private final CompletableFuture<Void> closing = new CompletableFuture<>();

    HoldController(LockTemplate locks, ShopProperties shop) {
        this.locks = locks;
        this.instance = shop.instance();
    }

    @PostMapping("/hold")
    Hold hold(
            @RequestParam(defaultValue = "${sample.product}") String product,
            @RequestParam(defaultValue = "20") int seconds)
            throws InterruptedException {
        return locks.execute("stock:" + product, lease -> hold(lease, Duration.ofSeconds(seconds)));
    }

    @EventListener(ContextClosedEvent.class)
    void letGo() {
        closing.complete(null);
    }

    private Hold hold(LockLease lease, Duration time) throws InterruptedException {
        long pid = ProcessHandle.current().pid();
        log.info("Holding {} for {} s; for a crash meanwhile: kill -9 {}", lease.name(), time.toSeconds(), pid);
        long start = System.nanoTime();
        awaitEnd(lease, time);
        long heldMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        return new Hold(lease.name(), lease.fencingToken(), instance, heldMillis, lease.isHeld());
    }

    private void awaitEnd(LockLease lease, Duration time) throws InterruptedException {
        CompletableFuture<Void> lost = new CompletableFuture<>();
        lease.onLost(loss -> lost.complete(null));
        try {
            CompletableFuture.anyOf(closing, lost).get(time.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException held) {
            log.debug("Held {} to the end", lease.name());
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** How the hold went, just before its release. */
    record Hold(String name, long token, String instance, long heldMillis, boolean stillHeld) {}
}
