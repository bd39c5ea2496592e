/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import io.lockkeeper.LockException;
import io.lockkeeper.sample.OrderResult.Reason;
import io.lockkeeper.sample.OrderResult.Refused;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Takes many orders at once, as if many customers had come. */
@RestController
class BurstController {

    private static final int MOST_ORDERS = 1_000;
    private static final int CUSTOMERS = 16;

    private final Map<String, Orders> modes;
    private final String instance;

    BurstController(Map<String, Orders> modes, ShopProperties shop) {
        this.modes = modes;
        this.instance = shop.instance();
    }

    @PostMapping("/burst")
    Burst burst(
            @RequestParam(defaultValue = "${sample.product}") String product,
            @RequestParam(defaultValue = "locked") String mode,
            @RequestParam(defaultValue = "100") int orders)
            throws InterruptedException {
        Orders chosen = modes.get(mode);
        if (chosen == null || orders < 1 || orders > MOST_ORDERS) {
            throw new ResponseStatusException(
                    HttpStatus.BAD_REQUEST,
                    "mode must be one of " + modes.keySet() + ", orders from 1 to " + MOST_ORDERS);
        }
        long start = System.nanoTime();
        Map<Outcome, Integer> outcomes = place(orders, () -> outcome(chosen, product));
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        return new Burst(
                instance,
                outcomes.getOrDefault(Outcome.SOLD, 0),
                outcomes.getOrDefault(Outcome.SOLD_OUT, 0),
                outcomes.getOrDefault(Outcome.FAILED, 0),
                millis);
    }

    private static Map<Outcome, Integer> place(int orders, Callable<Outcome> order) throws InterruptedException {
        ExecutorService customers = Executors.newFixedThreadPool(Math.min(orders, CUSTOMERS));
        try {
            Map<Outcome, Integer> outcomes = new EnumMap<>(Outcome.class);
            for (Future<Outcome> placed : customers.invokeAll(Collections.nCopies(orders, order))) {
                outcomes.merge(placed.get(), 1, Integer::sum);
            }
            return outcomes;
        } catch (ExecutionException failed) {
            throw new IllegalStateException("An order of the burst failed", failed.getCause());
        } finally {
            customers.shutdownNow();
        }
    }

    private static Outcome outcome(Orders orders, String product) {
        try {
            OrderResult result = orders.place(product);
            if (result instanceof Refused refused) {
                return refused.reason() == Reason.SOLD_OUT ? Outcome.SOLD_OUT : Outcome.FAILED;
            }
            return Outcome.SOLD;
        } catch (LockException busy) {
            return Outcome.FAILED;
        }
    }

    private enum Outcome {
        SOLD,
        SOLD_OUT,
        FAILED
    }

    /** What became of the orders of one burst. */
    record Burst(String instance, int sold, int soldOut, int failed, long millis) {}
}
