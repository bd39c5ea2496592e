/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.sample.Customer.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** One instance, with the servers that it starts itself. */
class EndpointsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Ports ports = Ports.free();

    private static ConfigurableApplicationContext shop;
    private static Customer customer;

    @BeforeAll
    static void open() {
        List<String> settings = new ArrayList<>(ports.settings());
        settings.addAll(List.of("--server.port=0", "--sample.instance=one", "--lockkeeper.wait-time=2s"));
        shop = SampleApplication.start(settings.toArray(String[]::new));
        customer = new Customer(shop.getEnvironment().getRequiredProperty("local.server.port", Integer.class));
    }

    @AfterAll
    static void closingTheLastInstanceEndsTheServers() {
        shop.close();
        ports.awaitClosed();
    }

    @BeforeEach
    void startTheSaleAgain() throws Exception {
        assertThat(customer.post("/stock/lamp?units=2").status()).isEqualTo(200);
    }

    @Test
    void everyModeSells() throws Exception {
        Reply locked = customer.post("/orders?product=lamp&mode=locked");
        Reply unlocked = customer.post("/orders?product=lamp&mode=unlocked");
        startTheSaleAgain();
        Reply fenced = customer.post("/orders?product=lamp&mode=fenced");

        assertThat(List.of(locked.status(), unlocked.status(), fenced.status())).containsOnly(201);
        assertThat(List.of(locked.number("remaining"), unlocked.number("remaining"), fenced.number("remaining")))
                .containsExactly(1, 0, 1);
        assertThat(locked.text("instance")).isEqualTo("one");
        assertThat(unlocked.body().has("token")).isFalse();
        assertThat(fenced.body().get("token").asLong())
                .isGreaterThan(locked.body().get("token").asLong());
    }

    @Test
    void theReportCountsWhatWasSold() throws Exception {
        customer.post("/orders");

        Reply stock = customer.get("/stock/lamp");

        assertThat(List.of(stock.number("units"), stock.number("remaining"), stock.number("sold")))
                .containsExactly(2, 1, 1);
        assertThat(stock.body().at("/perInstance/one").asInt()).isEqualTo(1);
    }

    @Test
    void nothingIsSoldFromAnEmptyStock() throws Exception {
        customer.post("/stock/lamp?units=0");

        for (String mode : List.of("locked", "unlocked", "fenced")) {
            Reply reply = customer.post("/orders?mode=" + mode);
            assertThat(reply.status()).isEqualTo(409);
            assertThat(reply.text("reason")).isEqualTo("SOLD_OUT");
        }
    }

    @Test
    void theFallbackAnswersWhileSomebodyElseHoldsTheLock() throws Exception {
        try (LockLease lease = shop.getBean(LockTemplate.class).acquire("stock:lamp")) {
            assertThat(lease.isHeld()).isTrue();

            Reply locked = customer.post("/orders?mode=locked");
            Reply fenced = customer.post("/orders?mode=fenced");

            assertThat(locked.status()).isEqualTo(503);
            assertThat(locked.text("reason")).isEqualTo("LOCK_NOT_ACQUIRED");
            assertThat(fenced.status()).isEqualTo(503);
            assertThat(fenced.text("title")).isEqualTo("Lock not acquired");
        }
    }

    @Test
    void aHolderWithAnOlderTokenIsRefusedAndLeavesNoOrder() throws Exception {
        shop.getBean(JdbcClient.class)
                .sql("update stock set fence = 9223372036854775807")
                .update();
        try {
            Reply reply = customer.post("/orders?mode=fenced");

            assertThat(reply.status()).isEqualTo(409);
            assertThat(reply.text("reason")).isEqualTo("NEWER_HOLDER");
            assertThat(customer.get("/stock/lamp").number("sold")).isZero();
        } finally {
            shop.getBean(JdbcClient.class).sql("update stock set fence = 0").update();
        }
    }

    @Test
    void aHoldTellsItsTokenAndHowItEnded() throws Exception {
        Reply hold = customer.post("/hold?product=lamp&seconds=0");

        assertThat(hold.status()).isEqualTo(200);
        assertThat(hold.text("name")).isEqualTo("stock:lamp");
        assertThat(hold.body().get("stillHeld").asBoolean()).isTrue();
    }

    @Test
    void aBurstTellsWhatBecameOfItsOrders() throws Exception {
        Reply burst = customer.post("/burst?mode=locked&orders=5");

        assertThat(List.of(burst.number("sold"), burst.number("soldOut"), burst.number("failed")))
                .containsExactly(2, 3, 0);
        assertThat(customer.post("/burst?orders=0").status()).isEqualTo(400);
        assertThat(customer.post("/burst?mode=other").status()).isEqualTo(400);
    }

    @Test
    void thePageReachesInstancesByTheirNames() throws Exception {
        assertThat(customer.post("/instances/one/orders?mode=locked").text("instance"))
                .isEqualTo("one");
        assertThat(customer.post("/instances/none/orders").status()).isEqualTo(404);
        assertThat(customer.post("/instances/one/stock").status()).isEqualTo(404);
    }

    @Test
    void theStreamTellsWhoHoldsTheLockAndWhoWaits() throws Exception {
        try (Stream<String> lines = customer.listen().get().body();
                LockLease lease = shop.getBean(LockTemplate.class).acquire("stock:lamp")) {
            CompletableFuture<LockLease> waiter = shop.getBean(LockTemplate.class)
                    .acquireAsync(LockRequest.of("stock:lamp").withWaitTime(PATIENCE));
            JsonNode lock = lines.filter(line -> line.startsWith("data: "))
                    .map(line -> JsonMapper.shared().readTree(line.substring("data: ".length())))
                    .map(board -> board.at("/locks/0"))
                    .filter(seen -> seen.at("/waiters/0/callers").asInt(0) > 0)
                    .findFirst()
                    .orElseThrow();

            assertThat(lock.at("/holders/0/name").asString()).isEqualTo("one");
            assertThat(lock.get("token").asString()).isEqualTo(String.valueOf(lease.fencingToken()));
            assertThat(lock.at("/waiters/0/mode").asString()).isEqualTo("EXCLUSIVE");
            assertThat(lock.at("/waiters/0/inside").asBoolean()).isTrue();
            assertThat(waiter.cancel(false)).isTrue();
        }
    }

    @Test
    void aReleaseByForceTellsWhetherSomebodyHeldTheLock() throws Exception {
        assertThat(customer.delete("/locks?name=stock:lamp")
                        .body()
                        .get("released")
                        .asBoolean())
                .isFalse();
        try (LockLease lease = shop.getBean(LockTemplate.class).acquire("stock:lamp")) {
            Reply release = customer.delete("/locks?name=stock:lamp");

            assertThat(release.body().get("released").asBoolean()).isTrue();
            assertThat(lease.verify()).isFalse();
        }
    }

    @Test
    void whatIsNotOnSaleIsNotFound() throws Exception {
        assertThat(customer.post("/orders?product=sofa").status()).isEqualTo(404);
        assertThat(customer.get("/stock/sofa").status()).isEqualTo(404);
        assertThat(customer.post("/stock/sofa?units=1").status()).isEqualTo(404);
        assertThat(customer.post("/orders?mode=other").status()).isEqualTo(400);
    }
}
