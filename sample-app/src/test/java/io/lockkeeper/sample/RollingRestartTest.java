/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.sample.Customer.Reply;
import io.lockkeeper.testing.RespConnection;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Both instances are stopped and started, one after the other, while orders flow to both. */
class RollingRestartTest {

    private static final int STOCK = 1_000_000;
    /** Far longer than the test: a lock that is left behind stops the sale. */
    private static final Duration LEASE = Duration.ofMinutes(10);

    /** Less than one phase of the shutdown may last. */
    private static final Duration TIME_TO_STOP = Duration.ofSeconds(20);

    private static final Duration REDIS_TIMEOUT = Duration.ofSeconds(30);

    @Test
    void noOrderIsLostAndNoLockIsLeft() throws Exception {
        Ports ports = Ports.free();
        List<String> settings = new ArrayList<>(ports.settings());
        settings.add("--lockkeeper.lease-time=" + LEASE.toMillis() + "ms");
        // Orders wait while an instance that holds the lock is stopped
        settings.add("--lockkeeper.wait-time=2m");
        List<ShopProcess> shops = new ArrayList<>();
        try {
            shops.add(new ShopProcess("one", settings));
            shops.add(new ShopProcess("two", settings));
            for (ShopProcess shop : shops) {
                shop.awaitLog("Started SampleApplication");
            }
            shops.get(0).customer().post("/stock/lamp?units=" + STOCK);

            Customers customers =
                    new Customers(shops.stream().map(ShopProcess::customer).toList());
            try (customers) {
                customers.awaitOrdersOf("one");
                customers.awaitOrdersOf("two");
                for (int index = 0; index < shops.size(); index++) {
                    ShopProcess stopped = shops.get(index);
                    stopWhileItHoldsTheLock(stopped, ports);
                    shops.set(index, stopped.startAgain());
                    stopped.close();
                    shops.get(index).awaitLog("Started SampleApplication");
                    customers.awaitOrdersOf(stopped.name());
                }
            }

            assertThat(customers.refusals()).as("orders refused by the shop").isEmpty();
            assertThat(ordersInDatabase(ports)).isEqualTo(customers.accepted());
            Reply stock = shops.get(0).customer().get("/stock/lamp");
            assertThat(stock.number("sold")).isEqualTo(customers.accepted().size());
            assertThat(stock.number("remaining")).isEqualTo(STOCK - stock.number("sold"));
            assertThat(holdersAndWaitersInRedis(ports)).containsOnly("");
        } finally {
            for (ShopProcess shop : shops) {
                shop.close();
            }
        }
        ports.awaitClosed();
    }

    private static void stopWhileItHoldsTheLock(ShopProcess shop, Ports ports) throws Exception {
        String redis = redisRun(ports);
        HttpResponse<Stream<String>> stream = shop.customer().listen().get(3, TimeUnit.MINUTES);
        CompletableFuture<Reply> hold = shop.customer().postAsync("/hold?seconds=60");
        shop.awaitLog("Holding stock:lamp");

        long start = System.nanoTime();
        String log = shop.stop();

        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TIME_TO_STOP);
        assertThat(redisRun(ports)).as("the Redis that all instances use").isEqualTo(redis);
        assertThat(log.substring(log.indexOf("Holding stock:lamp"))).doesNotContain(" WARN ", " ERROR ");
        Reply held = hold.get(3, TimeUnit.MINUTES);
        assertThat(held.status()).isEqualTo(200);
        assertThat(held.body().get("stillHeld").asBoolean()).isTrue();
        assertThat(stream.body()).as("a stream that has ended").startsWith("retry: 1000");
    }

    private static String redisRun(Ports ports) {
        try (RespConnection redis = new RespConnection("localhost", ports.redis(), REDIS_TIMEOUT)) {
            return String.valueOf(redis.command("INFO", "server"))
                    .lines()
                    .filter(line -> line.startsWith("run_id"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static Set<Integer> ordersInDatabase(Ports ports) throws SQLException {
        String address = "jdbc:h2:tcp://localhost:" + ports.database() + "/./shop";
        try (Connection connection = DriverManager.getConnection(address, "sa", "");
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select id from orders")) {
            Set<Integer> orders = new HashSet<>();
            while (rows.next()) {
                orders.add(rows.getInt(1));
            }
            return orders;
        }
    }

    private static List<Object> holdersAndWaitersInRedis(Ports ports) {
        try (RespConnection redis = new RespConnection("localhost", ports.redis(), REDIS_TIMEOUT)) {
            List<Object> found = new ArrayList<>();
            for (Object key : (List<?>) redis.command("KEYS", "lockkeeper:lock:*")) {
                // Of a lock that is free the record tells who held it last, and no more
                found.add(String.valueOf(redis.command("HGET", (String) key, "lock"))
                        .substring(64));
                found.add(String.valueOf(redis.command("HGET", (String) key, "hold"))
                        .substring(1, 22)
                        .replace("-", ""));
            }
            return found;
        }
    }
}
