/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.sample.Customer.Reply;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Customers who order one lamp after the other, in turn at each instance, and remember what they were told. */
final class Customers implements AutoCloseable {

    private static final int AT_ONCE = 8;

    /**
     * A customer's pause after each answer: enough for a queue at the lock, and the processors are left to the shops.
     */
    private static final long PAUSE_MILLIS = 50;

    private final ScheduledExecutorService threads = Executors.newScheduledThreadPool(AT_ONCE);
    private final Set<Integer> accepted = ConcurrentHashMap.newKeySet();
    private final Map<String, CountDownLatch> awaited = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<Reply> refusals = new ConcurrentLinkedQueue<>();

    Customers(List<Customer> shops) {
        for (int number = 0; number < AT_ONCE; number++) {
            Iterator<Customer> turns = Stream.iterate(number, turn -> turn + 1)
                    .map(turn -> shops.get(turn % shops.size()))
                    .iterator();
            threads.scheduleWithFixedDelay(() -> order(turns.next()), 0, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Waits until an instance has accepted an order that comes after this call. */
    void awaitOrdersOf(String instance) throws InterruptedException {
        CountDownLatch order = new CountDownLatch(1);
        awaited.put(instance, order);
        assertThat(order.await(3, TimeUnit.MINUTES))
                .as("an order is accepted by %s", instance)
                .isTrue();
    }

    /** Returns the numbers of the orders that were accepted. */
    Set<Integer> accepted() {
        return accepted;
    }

    /** Returns the answers of instances that were running and took no order. */
    List<Reply> refusals() {
        return List.copyOf(refusals);
    }

    /** Waits for the answers to the last orders. */
    @Override
    public void close() throws InterruptedException {
        threads.shutdown();
        assertThat(threads.awaitTermination(3, TimeUnit.MINUTES)).isTrue();
    }

    private void order(Customer shop) {
        try {
            take(shop.post("/orders?mode=locked"));
        } catch (IOException stopped) {
            // No order was taken, which the database confirms in the end: the next turn is at the other instance
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        }
    }

    private void take(Reply reply) {
        if (reply.status() == 201) {
            accepted.add(reply.number("order"));
            Optional.ofNullable(awaited.get(reply.text("instance"))).ifPresent(CountDownLatch::countDown);
        } else if (!reply.body().isEmpty()) {
            refusals.add(reply);
        }
    }
}
