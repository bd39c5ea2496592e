/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import com.jayway.jsonpath.JsonPath;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.autoconfigure.SwitchableStore;
import io.lockkeeper.autoconfigure.SwitchableStore.Part;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The endpoint over HTTP, in whole applications. */
class LocksEndpointTest {

    private static final Map<List<String>, ConfigurableApplicationContext> shops = new HashMap<>();

    private final HttpClient http = HttpClient.newHttpClient();
    private final List<ConfigurableApplicationContext> applications = new ArrayList<>();
    private final List<LockLease> leases = new ArrayList<>();

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {}

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class ShopWithoutStore {

        @Bean
        SwitchableStore store() {
            SwitchableStore store = new SwitchableStore(new MemoryLockStore());
            store.switchOff(Part.LOOKS);
            return store;
        }
    }

    @AfterEach
    void stop() {
        leases.forEach(LockLease::close);
        applications.forEach(ConfigurableApplicationContext::close);
    }

    @AfterAll
    static void stopShops() {
        shops.values().forEach(ConfigurableApplicationContext::close);
        shops.clear();
    }

    /** Returns the application of all tests with these properties, which leave no lock in it. */
    private static ConfigurableApplicationContext shop(String... properties) {
        return shops.computeIfAbsent(List.of(properties), own -> run(Shop.class, properties));
    }

    private LockLease hold(ConfigurableApplicationContext shop, String name) {
        LockLease lease = shop.getBean(LockTemplate.class).acquire(name);
        leases.add(lease);
        return lease;
    }

    private ConfigurableApplicationContext start(Class<?> shop, String... properties) {
        ConfigurableApplicationContext application = run(shop, properties);
        applications.add(application);
        return application;
    }

    private static ConfigurableApplicationContext run(Class<?> shop, String... properties) {
        return new SpringApplicationBuilder(shop)
                .properties(
                        "server.port=0",
                        "spring.main.banner-mode=off",
                        "spring.application.name=shop",
                        "management.endpoints.web.exposure.include=*",
                        "management.endpoint.health.show-details=always",
                        "lockkeeper.shutdown.wait=0",
                        "lockkeeper.store=memory")
                .properties(properties)
                .run();
    }

    private HttpResponse<String> request(ConfigurableApplicationContext application, String method, String path)
            throws IOException, InterruptedException {
        String port = application.getEnvironment().getProperty("local.server.port");
        URI uri = URI.create("http://localhost:" + port + "/actuator" + path);
        return http.send(
                HttpRequest.newBuilder(uri)
                        .method(method, BodyPublishers.noBody())
                        .build(),
                BodyHandlers.ofString());
    }

    private String read(ConfigurableApplicationContext application, String path, String json) throws Exception {
        return JsonPath.<Object>read(body(application, path), json).toString();
    }

    private String body(ConfigurableApplicationContext application, String path) throws Exception {
        HttpResponse<String> answer = request(application, "GET", path);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    @Test
    void whatThisInstanceHoldsAndWaitsForIsShown() throws Exception {
        ConfigurableApplicationContext shop = shop();
        LockTemplate template = shop.getBean(LockTemplate.class);
        try (LockTemplate other = LockTemplate.builder(
                                shop.getBean(MemoryLockStore.class).peer())
                        .instanceName("stock")
                        .build();
                LockLease held = template.acquire("a");
                LockLease elsewhere = other.acquire("b")) {
            CompletableFuture<LockLease> waiting =
                    template.acquireAsync(LockRequest.of("b").withLabel("Shop.sell"));
            String body = request(shop, "GET", "/locks").body();
            assertThat(JsonPath.<List<String>>read(body, "$.held[*].name")).containsExactly("a");
            assertThat(JsonPath.<String>read(body, "$.held[0].mode")).isEqualTo("exclusive");
            assertThat(JsonPath.<String>read(body, "$.held[0].remaining")).matches("PT(29|30)(\\.\\d+)?S");
            assertThat(JsonPath.<Number>read(body, "$.held[0].fencingToken").longValue())
                    .isEqualTo(held.fencingToken());
            assertThat(JsonPath.<String>read(body, "$.held[0].holders[0].application"))
                    .isEqualTo("shop");
            assertThat(JsonPath.<String>read(body, "$.held[0].holders[0].since"))
                    .matches("\\d{4}-\\d\\d-\\d\\dT.*Z");
            assertThat(JsonPath.<List<String>>read(body, "$.waiting[0].names")).containsExactly("b");
            assertThat(JsonPath.<String>read(body, "$.waiting[0].label")).isEqualTo("Shop.sell");
            assertThat(JsonPath.<String>read(body, "$.waiting[0].waited")).startsWith("PT");
            assertThat(read(shop, "/locks/b", "$.holders[0].application")).isEqualTo("stock");
            assertThat(read(shop, "/locks/b", "$.waiters[0].application")).isEqualTo("shop");
            waiting.cancel(true);
        }
    }

    @Test
    void locksAreFoundByAPattern() throws Exception {
        ConfigurableApplicationContext shop = shop();
        for (String name : List.of("order:1", "order:2", "stock")) {
            hold(shop, name);
        }
        assertThat(JsonPath.<List<String>>read(body(shop, "/locks?pattern=order:*"), "$.locks[*].name"))
                .containsExactlyInAnyOrder("order:1", "order:2");
        assertThat(JsonPath.<List<String>>read(body(shop, "/locks?pattern=*&limit=1"), "$.locks[*].name"))
                .hasSize(1);
        assertThat(request(shop, "GET", "/locks?pattern=*&limit=0").statusCode())
                .isEqualTo(400);
    }

    @Test
    void ownLocksAreFoundAmongOthersAndTheAnswerSaysWhereThereAreMore() throws Exception {
        ConfigurableApplicationContext shop = shop();
        try (LockTemplate stock = LockTemplate.builder(
                        shop.getBean(MemoryLockStore.class).peer())
                .instanceName("stock")
                .build()) {
            for (int lock = 0; lock < 1_500; lock++) {
                stock.acquire("among:" + lock);
            }
            List<String> own = new ArrayList<>();
            for (int lock = 0; lock < 10; lock++) {
                own.add(hold(shop, "among:own:" + lock).name());
            }

            String all = body(shop, "/locks?pattern=among:*&own=true&limit=10");
            assertThat(JsonPath.<List<String>>read(all, "$.locks[*].name")).containsExactlyInAnyOrderElementsOf(own);
            assertThat(JsonPath.<Boolean>read(all, "$.more")).isFalse();
            String some = body(shop, "/locks?pattern=among:*&own=true&limit=9");
            assertThat(JsonPath.<List<String>>read(some, "$.locks[*].name"))
                    .hasSize(9)
                    .isSubsetOf(own);
            assertThat(JsonPath.<Boolean>read(some, "$.more")).isTrue();
            assertThat(read(shop, "/locks?pattern=among:*&limit=2000", "$.locks.length()"))
                    .isEqualTo("1000");
            assertThat(read(shop, "/locks?pattern=among:*&limit=2000", "$.more"))
                    .isEqualTo("true");
            assertThat(read(shop, "/locks?pattern=among:1*&limit=611", "$.more"))
                    .isEqualTo("false");
            assertThat(read(shop, "/locks?pattern=among:1*&limit=610", "$.more"))
                    .isEqualTo("true");
        }
    }

    @Test
    void locksOfTheApplicationsOtherInstancesAreItsOwnWhateverTheirNames() throws Exception {
        ConfigurableApplicationContext shop = start(Shop.class, "lockkeeper.instance-name=shop-1");
        MemoryLockStore store = shop.getBean(MemoryLockStore.class);
        try (LockTemplate second = LockTemplate.builder(store.peer())
                        .instanceName("shop-2")
                        .serviceName("shop")
                        .build();
                LockTemplate stock = LockTemplate.builder(store.peer())
                        .instanceName("shop-1")
                        .serviceName("stock")
                        .build()) {
            second.acquire("instance:2");
            stock.acquire("instance:3");

            String own = body(shop, "/locks?pattern=instance:*&own=true");
            assertThat(JsonPath.<List<String>>read(own, "$.locks[*].holders[0].application"))
                    .containsExactly("shop-2");
            assertThat(JsonPath.<List<String>>read(own, "$.locks[*].holders[0].service"))
                    .containsExactly("shop");
        }
    }

    @Test
    void ofManyWaitersTheFirstHundredAreShownAndAllCounted() throws Exception {
        ConfigurableApplicationContext shop = shop();
        try (LockTemplate stock = LockTemplate.builder(
                        shop.getBean(MemoryLockStore.class).peer())
                .instanceName("stock")
                .build()) {
            LockRequest fair = LockRequest.of("crowded").withMode(LockMode.FAIR);
            stock.acquire(fair);
            for (int waiter = 0; waiter < 150; waiter++) {
                stock.acquireAsync(fair);
            }
            CompletableFuture<LockLease> last = shop.getBean(LockTemplate.class).acquireAsync(fair);

            String crowded = body(shop, "/locks/crowded");
            assertThat(JsonPath.<List<String>>read(crowded, "$.waiters[*].application"))
                    .hasSize(100)
                    .containsOnly("stock");
            assertThat(JsonPath.<Integer>read(crowded, "$.waiting")).isEqualTo(151);
            String own = body(shop, "/locks?pattern=crowded&own=true");
            assertThat(JsonPath.<Boolean>read(own, "$.more"))
                    .as("own ones may stand behind the first hundred")
                    .isTrue();
            last.cancel(true);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "orders/42/items, orders/42/items",
        "order:{42}, order:%7B42%7D",
        "a b+c, a%20b+c",
        "50%, 50%25",
        "größe, gr%C3%B6%C3%9Fe",
        "a?b#c, a%3Fb%23c",
        "v1.json, v1.json"
    })
    void namesOfAnyKindAreFoundAndForced(String name, String path) throws Exception {
        ConfigurableApplicationContext shop = shop("lockkeeper.actuator.force-release.enabled=true");
        LockLease lease = hold(shop, name);
        assertThat(read(shop, "/locks/" + path, "$.name")).isEqualTo(name);

        HttpResponse<String> answer = request(shop, "DELETE", "/locks/" + path);

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(JsonPath.<Boolean>read(answer.body(), "$.released")).isTrue();
        Awaitility.await().until(() -> !lease.isHeld());
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        assertThat(request(shop, "GET", "/locks/" + path).statusCode()).isEqualTo(404);
    }

    @Test
    void aStoreThatIsAwayIsUnavailableAndWhatIsHeldHereIsShownAllTheSame() throws Exception {
        ConfigurableApplicationContext shop = start(ShopWithoutStore.class);
        shop.getBean(LockTemplate.class).acquire("a");
        assertThat(read(shop, "/locks", "$.held[0].name")).isEqualTo("a");
        for (String path : List.of("/locks/a", "/locks?pattern=*")) {
            HttpResponse<String> answer = request(shop, "GET", path);
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
        }
    }

    @Test
    void nothingCanBeForcedUnlessThatIsWanted() throws Exception {
        ConfigurableApplicationContext shop = shop();
        LockLease lease = hold(shop, "a");
        assertThat(request(shop, "DELETE", "/locks/a").statusCode()).isEqualTo(405);
        assertThat(lease.isHeld()).isTrue();
    }

    @Test
    void aNameThatMakesNoSenseIsTheFaultOfWhoeverSentIt() throws Exception {
        ConfigurableApplicationContext shop = shop();
        HttpResponse<String> answer = request(shop, "GET", "/locks/" + "a".repeat(513));
        assertThat(answer.statusCode()).isEqualTo(400);
    }

    @Test
    void healthIsShown() throws Exception {
        ConfigurableApplicationContext shop = shop();
        assertThat(read(shop, "/health/lockkeeper", "$.status")).isEqualTo("UP");
        assertThat(read(shop, "/health/lockkeeper", "$.details.grantsSince")).endsWith("Z");
        assertThat(shop.getBean(MemoryLockStore.class).find("*", 10).join()).isEmpty();
    }

    @Test
    void metricsOfAnApplicationAreThere() throws Exception {
        ConfigurableApplicationContext shop = shop();
        shop.getBean(LockTemplate.class).run(LockRequest.of("a").withLabel("Shop.sell"), lease -> {});
        for (String meter : List.of("acquire", "hold", "held", "waiting", "lost", "renewals", "renewal.failures")) {
            assertThat(read(shop, "/metrics/lockkeeper." + meter + "?tag=label:Shop.sell&tag=mode:exclusive", "$.name"))
                    .isEqualTo("lockkeeper." + meter);
        }
    }

    @Test
    void inRedisAForcedHolderHearsOfItAndHealthFollowsTheServer() throws Exception {
        try (RedisServer redis = RedisServer.start()) {
            ConfigurableApplicationContext shop = start(
                    Shop.class,
                    "lockkeeper.store=redis",
                    "lockkeeper.redis.command-timeout=2s",
                    "spring.data.redis.port=" + redis.port(),
                    "lockkeeper.actuator.force-release.enabled=true");
            Awaitility.await().untilAsserted(() -> assertThat(read(shop, "/health/lockkeeper", "$.status"))
                    .isEqualTo("UP"));
            assertThat(redis.keys()).noneMatch(key -> key.contains(":lock:"));
            LockLease lease = shop.getBean(LockTemplate.class).acquire("orders/{42}");
            assertThat(read(shop, "/locks/orders/%7B42%7D", "$.holders[0].application"))
                    .isEqualTo("shop");
            assertThat(request(shop, "DELETE", "/locks/orders/%7B42%7D").statusCode())
                    .isEqualTo(200);
            Awaitility.await().until(() -> !lease.isHeld());
            assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);

            redis.kill();

            Awaitility.await().untilAsserted(() -> {
                HttpResponse<String> answer = request(shop, "GET", "/health/lockkeeper");
                assertThat(answer.statusCode()).isEqualTo(503);
                assertThat(JsonPath.<String>read(answer.body(), "$.status")).isEqualTo("DOWN");
            });
        }
    }
}
