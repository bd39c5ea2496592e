/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.sample.Customer.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Two instances in two JVMs, one stock of 500 and 1,000 customers, half of them at each instance. */
@TestMethodOrder(OrderAnnotation.class)
class FlashSaleTest {

    private static final int STOCK = 500;
    private static final int ORDERS = 1_000;
    private static final int CONNECTIONS = 64;
    private static final Duration LEASE = Duration.ofSeconds(3);

    private static final Ports ports = Ports.free();
    private static ShopProcess one;
    private static ShopProcess two;

    @BeforeAll
    static void openBothAtTheSameMoment() throws Exception {
        List<String> settings = new ArrayList<>(ports.settings());
        settings.add("--lockkeeper.lease-time=" + LEASE.toMillis() + "ms");
        one = new ShopProcess("one", settings);
        two = new ShopProcess("two", settings);
        one.awaitLog("Started SampleApplication");
        two.awaitLog("Started SampleApplication");
    }

    @AfterAll
    static void closingTheLastInstanceEndsTheServers() throws Exception {
        try (ShopProcess first = one;
                ShopProcess second = two) {
            assertThat(first).isNotSameAs(second);
        }
        ports.awaitClosed();
    }

    @Test
    @Order(1)
    void withTheLockEveryUnitIsSoldOnce() throws Exception {
        Reply stock = sell("locked");

        assertThat(stock.number("sold")).isEqualTo(STOCK);
        assertThat(stock.number("remaining")).isZero();
    }

    @Test
    @Order(2)
    void withTheLockAndTheFenceEveryUnitIsSoldOnce() throws Exception {
        Reply stock = sell("fenced");

        assertThat(stock.number("sold")).isEqualTo(STOCK);
        assertThat(stock.number("remaining")).isZero();
    }

    @Test
    @Order(3)
    void withoutTheLockUnitsAreSoldTwice() throws Exception {
        Reply stock = sell("unlocked");

        assertThat(stock.number("sold")).isGreaterThan(STOCK);
    }

    @Test
    @Order(4)
    void theOtherInstanceGoesOnWithinTheLeaseWhenTheHolderIsKilled() throws Exception {
        one.customer().post("/stock/lamp?units=" + STOCK);
        CompletableFuture<Reply> hold = one.customer().postAsync("/hold?seconds=60");
        one.awaitLog("Holding stock:lamp");

        one.kill();
        long killed = System.nanoTime();
        Reply reply = two.customer().post("/orders?mode=locked");

        Duration pause = Duration.ofNanos(System.nanoTime() - killed);
        assertThat(reply.status()).isEqualTo(201);
        assertThat(pause).isLessThanOrEqualTo(LEASE.plusSeconds(5));
        assertThat(reply.number("remaining")).isEqualTo(STOCK - 1);
        assertThat(hold).failsWithin(Duration.ofMinutes(1));
    }

    /** Returns the report after the sale, in which the shop counts as many orders as its customers do. */
    private static Reply sell(String mode) throws Exception {
        one.customer().post("/stock/lamp?units=" + STOCK);
        List<Integer> statuses = order("/orders?product=lamp&mode=" + mode);

        Reply stock = two.customer().get("/stock/lamp");
        assertThat(statuses).hasSize(ORDERS).isSubsetOf(201, 409);
        assertThat(statuses).filteredOn(status -> status == 201).hasSize(stock.number("sold"));
        assertThat(stock.body().at("/perInstance/one").asInt()).isPositive();
        assertThat(stock.body().at("/perInstance/two").asInt()).isPositive();
        return stock;
    }

    private static List<Integer> order(String path) throws Exception {
        List<Callable<Integer>> orders = IntStream.range(0, ORDERS)
                .mapToObj(number -> (number % 2 == 0 ? one : two).customer())
                .map(customer -> (Callable<Integer>) () -> customer.post(path).status())
                .toList();
        ExecutorService customers = Executors.newFixedThreadPool(CONNECTIONS);
        try {
            List<Integer> statuses = new ArrayList<>();
            for (Future<Integer> order : customers.invokeAll(orders)) {
                statuses.add(order.get());
            }
            return statuses;
        } finally {
            customers.shutdown();
        }
    }
}
