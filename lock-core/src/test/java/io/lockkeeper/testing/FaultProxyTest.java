/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

    private static final Duration SOON = Duration.ofSeconds(10);
    private static final Duration DELAY = Duration.ofMillis(400);
    private static final Predicate<RedisRequest> INCR = RedisRequest.command("incr");

    private static RedisServer server;

    private FaultProxy proxy;
    private RespConnection client;

    @BeforeAll
    static void startServer() {
        server = RedisServer.start();
    }

    @AfterAll
    static void closeServer() {
        server.close();
    }

    @BeforeEach
    void connect() {
        server.command("FLUSHALL");
        proxy = FaultProxy.inFrontOf(server);
        client = connect(SOON);
    }

    @AfterEach
    void close() {
        client.close();
        proxy.close();
    }

    @Test
    void withoutAFaultEverythingPassesInOrder() {
        client.send("INCR", "n");
        client.send("INCR", "n");
        client.send("GET", "n");
        assertThat(List.of(client.receive(), client.receive(), client.receive()))
                .isEqualTo(List.of(1L, 2L, "2"));
    }

    @Test
    void aRefusalThatComesBeforeAnyRequestReachesTheClient() {
        try (RespConnection control = server.connect()) {
            control.command("CONFIG", "SET", "maxclients", "1");
            try (RespConnection refused = connect(SOON)) {
                assertThatThrownBy(refused::receive).hasMessageContaining("max number of clients");
            } finally {
                control.command("CONFIG", "SET", "maxclients", "10000");
            }
        }
    }

    @Test
    void onlyMatchingRequestsAreHitAndOnlySoOften() {
        Fault fault =
                proxy.when(INCR.and(RedisRequest.containing("orders"))).times(2).delayReply(Duration.ZERO);
        client.command("INCR", "other");
        client.command("GET", "orders");
        assertThat(fault.hits()).isZero();

        client.command("INCR", "orders:1");
        client.command("INCR", "orders:1");
        client.command("INCR", "orders:1");
        assertThat(fault.hits()).isEqualTo(2);
        assertThat(fault.completed()).isEqualTo(2);
    }

    @Test
    void theOldestMatchingFaultTakesTheRequest() {
        Fault first = proxy.when(INCR).once().delayReply(Duration.ZERO);
        Fault second = proxy.when(INCR).delayReply(Duration.ZERO);
        client.command("INCR", "n");
        client.command("INCR", "n");
        assertThat(first.hits()).isEqualTo(1);
        assertThat(second.hits()).isEqualTo(1);

        proxy.clear();
        client.command("INCR", "n");
        assertThat(second.hits()).isEqualTo(1);
    }

    @Test
    void aCutReplyLeavesTheCommandDoneAndTheClientDisconnected() {
        Fault fault = proxy.when(INCR).once().cutReply();
        assertThatThrownBy(() -> client.command("INCR", "n")).isInstanceOf(UncheckedIOException.class);
        fault.awaitCompleted(1, SOON);
        assertThat(server.command("GET", "n")).isEqualTo("1");
        assertThat(reconnect().command("INCR", "n")).isEqualTo(2L);
    }

    @Test
    void aDelayedRequestReachesRedisLate() {
        proxy.when(INCR).once().delayRequest(DELAY);
        long start = System.nanoTime();
        client.send("INCR", "n");
        assertThat(server.command("GET", "n")).isNull();
        assertThat(client.receive()).isEqualTo(1L);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(DELAY);
    }

    @Test
    void aDelayedRequestReachesRedisAlthoughItsClientHasGone() {
        Fault fault = proxy.when(INCR).once().delayRequest(DELAY);
        client.send("INCR", "n");
        client.close();
        fault.awaitCompleted(1, SOON);
        assertThat(server.command("GET", "n")).isEqualTo("1");
    }

    @Test
    void aDelayedReplyComesLateForACommandDoneAtOnce() {
        Fault fault = proxy.when(INCR).once().delayReply(DELAY);
        long start = System.nanoTime();
        client.send("INCR", "n");
        fault.awaitCompleted(1, SOON);
        assertThat(server.command("GET", "n")).isEqualTo("1");
        assertThat(client.receive()).isEqualTo(1L);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(DELAY);
    }

    @Test
    void aSwallowedRequestTakesItsConnectionWithIt() {
        client.close();
        client = connect(DELAY);
        Fault fault = proxy.when(INCR).once().swallow();
        assertThatThrownBy(() -> client.command("INCR", "n")).isInstanceOf(UncheckedIOException.class);
        assertThatThrownBy(() -> client.command("PING")).isInstanceOf(UncheckedIOException.class);
        assertThat(fault.completed()).isEqualTo(1);
        assertThat(reconnect().command("INCR", "n")).isEqualTo(1L);
    }

    @Test
    void aDuplicatedRequestRunsTwiceForOneReply() {
        Fault fault = proxy.when(INCR).once().duplicate();
        assertThat(client.command("INCR", "n")).isIn(1L, 2L);
        fault.awaitCompleted(1, SOON);
        assertThat(client.command("GET", "n")).isEqualTo("2");
    }

    @Test
    void theCopyMayComeAfterItsClientHasMovedOn() {
        Fault fault = proxy.when(INCR).once().duplicateAfter(DELAY);
        assertThat(client.command("INCR", "n")).isEqualTo(1L);
        assertThat(client.command("SET", "n", "10")).isEqualTo("OK");
        assertThat(fault.completed()).isZero();
        fault.awaitCompleted(1, SOON);
        assertThat(client.command("GET", "n")).isEqualTo("11");
    }

    @Test
    void aHeldRequestWaitsUntilItIsDelivered() {
        Fault fault = proxy.when(INCR).hold();
        client.send("INCR", "n");
        fault.awaitHits(1, SOON);
        assertThat(server.command("GET", "n")).isNull();
        fault.clear();
        fault.deliver();
        assertThat(client.receive()).isEqualTo(1L);
    }

    @Test
    void aHeldRequestIsDeliveredAlthoughItsClientHasGone() {
        Fault fault = proxy.when(INCR).once().hold();
        client.send("INCR", "n");
        fault.awaitHits(1, SOON);
        proxy.disconnectClients();
        assertThat(reconnect().command("SET", "n", "10")).isEqualTo("OK");
        fault.deliver();
        fault.awaitCompleted(1, SOON);
        assertThat(server.command("GET", "n")).isEqualTo("11");
    }

    @Test
    void waitingForAHitThatNeverComesFails() {
        Fault fault = proxy.when(INCR).swallow();
        assertThatThrownBy(() -> fault.awaitHits(1, Duration.ofMillis(20)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("0 of 1 hits");
    }

    @Test
    void messagesOfASubscriptionPassOrAreLost() {
        for (String protocol : List.of("2", "3")) {
            client = reconnect();
            client.command("HELLO", protocol);
            assertThat(client.command("SUBSCRIBE", "news")).isEqualTo(List.of("subscribe", "news", 1L));
            proxy.loseMessages(true);
            server.command("PUBLISH", "news", "lost");
            // The reply comes behind the message, which has been lost by then
            assertThat(client.command("PING")).isNotNull();
            proxy.loseMessages(false);
            server.command("PUBLISH", "news", "kept");
            assertThat(client.receive()).isEqualTo(List.of("message", "news", "kept"));
        }
    }

    @Test
    void aClientIsDisconnectedWithItsServerAndMayComeBack() {
        try (RedisServer other = RedisServer.start();
                FaultProxy front = FaultProxy.inFrontOf(other)) {
            try (RespConnection connection = new RespConnection(front.host(), front.port(), SOON)) {
                assertThat(connection.command("PING")).isEqualTo("PONG");
                other.kill();
                assertThatThrownBy(() -> connection.command("PING")).isInstanceOf(UncheckedIOException.class);
            }
            other.restart();
            try (RespConnection connection = new RespConnection(front.host(), front.port(), SOON)) {
                assertThat(connection.command("PING")).isEqualTo("PONG");
            }
        }
    }

    @Test
    void aClientThatLeavesIsSeenToLeaveByTheServer() {
        client.command("CLIENT", "SETNAME", "leaving");
        assertThat(String.valueOf(server.command("CLIENT", "LIST"))).contains("name=leaving");
        client.close();
        await().untilAsserted(() ->
                assertThat(String.valueOf(server.command("CLIENT", "LIST"))).doesNotContain("name=leaving"));
    }

    private RespConnection reconnect() {
        client.close();
        client = connect(SOON);
        return client;
    }

    private RespConnection connect(Duration timeout) {
        return new RespConnection(proxy.host(), proxy.port(), timeout);
    }
}
