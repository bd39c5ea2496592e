/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import com.jayway.jsonpath.JsonPath;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ClassPathResource;

/** The page, content types and names as parameters, under Spring MVC and WebFlux. */
class LocksOverHttpTest {

    private static final String BROWSER =
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

    private static final Map<WebApplicationType, ConfigurableApplicationContext> shops = new ConcurrentHashMap<>();
    private static final HttpClient http = HttpClient.newHttpClient();

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {}

    private static ConfigurableApplicationContext start(WebApplicationType type, String... properties) {
        return new SpringApplicationBuilder(Shop.class)
                .web(type)
                .properties(
                        "server.port=0",
                        "spring.main.banner-mode=off",
                        "spring.application.name=shop",
                        "management.endpoints.web.exposure.include=locks",
                        "lockkeeper.shutdown.wait=0",
                        "lockkeeper.store=memory",
                        "lockkeeper.actuator.force-release.enabled=true")
                .properties(properties)
                .run();
    }

    private static ConfigurableApplicationContext shop(WebApplicationType type) {
        return shops.computeIfAbsent(type, LocksOverHttpTest::start);
    }

    @AfterAll
    static void stop() {
        shops.values().forEach(ConfigurableApplicationContext::close);
    }

    private static HttpResponse<String> request(
            ConfigurableApplicationContext shop, String method, String path, @Nullable String accept) throws Exception {
        String port = shop.getEnvironment().getProperty("local.management.port");
        port = port == null ? shop.getEnvironment().getProperty("local.server.port") : port;
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://localhost:" + port + "/actuator/locks" + path))
                .method(method, BodyPublishers.noBody());
        if (accept != null) {
            request.header("Accept", accept);
        }
        return http.send(request.build(), BodyHandlers.ofString());
    }

    private static String typeOf(HttpResponse<String> answer) {
        return answer.headers().firstValue("Content-Type").orElse("");
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NONE")
    void peopleGetAPageAndProgramsJson(WebApplicationType type) throws Exception {
        for (String accept : List.of(BROWSER, "text/html", "text/*", "application/json, text/html")) {
            HttpResponse<String> page = request(shop(type), "GET", "", accept);
            assertThat(typeOf(page)).as(accept).startsWith("text/html");
            assertThat(page.body()).startsWith("<!doctype html>").doesNotContain("{{");
            assertThat(page.body()).contains("data-force-release=\"true\"");
        }
        for (String accept : List.of("*/*", "application/json", "application/json, text/plain, */*", "application/*")) {
            HttpResponse<String> json = request(shop(type), "GET", "", accept);
            assertThat(typeOf(json)).as(accept).contains("json");
            assertThat(JsonPath.<String>read(json.body(), "$.instance.application"))
                    .isEqualTo("shop");
        }
        assertThat(typeOf(request(shop(type), "GET", "", null))).contains("json");
        assertThat(typeOf(request(shop(type), "GET", "", "application/vnd.spring-boot.actuator.v2+json")))
                .contains("v2+json");
        assertThat(typeOf(request(shop(type), "GET", "", "application/json"))).startsWith("application/json");
        assertThat(request(shop(type), "GET", "", "image/png").statusCode()).isEqualTo(406);
    }

    @ParameterizedTest
    @CsvSource({
        "SERVLET, a//b, a/b", "SERVLET, /c, c", "SERVLET, d/, d", "SERVLET, e;f, e", "SERVLET, //g///h//, g/h",
        "REACTIVE, a//b, a/b", "REACTIVE, /c, c", "REACTIVE, d/, d", "REACTIVE, e;f, e", "REACTIVE, //g///h//, g/h"
    })
    void aNameIsTakenExactlyAsAParameterAndInThePath(WebApplicationType type, String name, String other)
            throws Exception {
        ConfigurableApplicationContext shop = shop(type);
        LockTemplate template = shop.getBean(LockTemplate.class);
        for (String address : List.of("?name=" + name, "/" + name)) {
            try (LockLease neighbour = template.acquire(other)) {
                assertThat(request(shop, "GET", address, null).statusCode()).isEqualTo(404);
                HttpResponse<String> nothing = request(shop, "DELETE", address, null);
                assertThat(JsonPath.<Boolean>read(nothing.body(), "$.released")).isFalse();
                assertThat(neighbour.verify()).isTrue();

                LockLease lease = template.acquire(name);
                assertThat(JsonPath.<String>read(
                                request(shop, "GET", address, null).body(), "$.name"))
                        .isEqualTo(name);
                HttpResponse<String> forced = request(shop, "DELETE", address, null);
                assertThat(JsonPath.<String>read(forced.body(), "$.name")).isEqualTo(name);
                assertThat(JsonPath.<Boolean>read(forced.body(), "$.released")).isTrue();
                assertThat(lease.verify()).isFalse();
                assertThat(neighbour.verify()).isTrue();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NONE")
    void namesAreFoundInTheApplicationsOwnLocksAndInAll(WebApplicationType type) throws Exception {
        ConfigurableApplicationContext shop = shop(type);
        LockTemplate template = shop.getBean(LockTemplate.class);
        try (LockTemplate other = LockTemplate.builder(
                                shop.getBean(MemoryLockStore.class).peer())
                        .instanceName("stock")
                        .build();
                LockLease own = template.acquire("find:own");
                LockLease foreign = other.acquire("find:foreign")) {
            assertThat(own.isHeld() && foreign.isHeld()).isTrue();
            assertThat(names(request(shop, "GET", "?pattern=find:*", null)))
                    .containsExactlyInAnyOrder("find:own", "find:foreign");
            assertThat(names(request(shop, "GET", "?pattern=find:*&own=true", null)))
                    .containsExactly("find:own");
            assertThat(names(request(shop, "GET", "?pattern=find:*&own=true&limit=1", null)))
                    .containsExactly("find:own");
        }
        assertThat(request(shop, "GET", "?pattern=*&own=true&limit=0", null).statusCode())
                .isEqualTo(400);
        assertThat(request(shop, "GET", "?pattern=*&name=a", null).statusCode()).isEqualTo(400);
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NONE")
    void severalNamesAreRefusedAndACommaIsPartOfOne(WebApplicationType type) throws Exception {
        ConfigurableApplicationContext shop = shop(type);
        try (LockLease comma = shop.getBean(LockTemplate.class).acquire("i,j")) {
            for (String refused : List.of("DELETE ?name=i&name=j", "GET ?name=i&name=j", "GET ?pattern=i&pattern=j")) {
                String[] parts = refused.split(" ", 2);
                HttpResponse<String> answer = request(shop, parts[0], parts[1], null);
                assertThat(answer.statusCode()).as(refused).isEqualTo(400);
                assertThat(JsonPath.<String>read(answer.body(), "$.reason")).contains("Give one name or pattern");
            }
            // A server may end the connection after a refusal, and a GET finds out without harm.
            assertThat(request(shop, "GET", "?name=i,j", null).statusCode()).isEqualTo(200);
            assertThat(comma.verify()).isTrue();
            assertThat(request(shop, "DELETE", "?name=i,j", null).body()).contains("\"released\":true");
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NONE")
    void aReleaseWithoutANameIsRefusedWithTheReason(WebApplicationType type) throws Exception {
        for (String address : List.of("", "?template=lockTemplate", "?name=")) {
            HttpResponse<String> answer = request(shop(type), "DELETE", address, null);
            assertThat(answer.statusCode()).as(address).isEqualTo(400);
            assertThat(JsonPath.<String>read(answer.body(), "$.reason"))
                    .as(address)
                    .contains("name");
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NONE")
    void otherParametersBesideANameInThePathAreReadAsTheyWereSent(WebApplicationType type) throws Exception {
        String body = request(shop(type), "GET", "/m//n?template=a%20%C3%A4%2Bb%25", null)
                .body();
        assertThat(JsonPath.<String>read(body, "$.reason")).contains("no template 'a \u00e4+b%'", "[lockTemplate]");
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "NONE")
    void aLockInThePathHasNoPage(WebApplicationType type) throws Exception {
        for (String name : List.of("k/l", "k//l")) {
            try (LockLease lease = shop(type).getBean(LockTemplate.class).acquire(name)) {
                HttpResponse<String> answer = request(shop(type), "GET", "/" + lease.name(), BROWSER);
                assertThat(typeOf(answer)).as(answer.body()).contains("json");
                assertThat(JsonPath.<String>read(answer.body(), "$.name")).isEqualTo(name);
            }
        }
        assertThat(typeOf(request(shop(type), "GET", "?name=k//l", BROWSER))).startsWith("text/html");
    }

    private static List<String> names(HttpResponse<String> found) {
        return JsonPath.read(found.body(), "$.locks[*].name");
    }

    @Test
    void timesLabelAndThreadAreThoseOfTheRequestAndBothViewsAgreeOnTheToken() throws Exception {
        ConfigurableApplicationContext shop = shop(WebApplicationType.SERVLET);
        LockTemplate template = shop.getBean(LockTemplate.class);
        try (LockLease lease = template.acquire(LockRequest.of("agreed").withLabel("Shop.sell"))) {
            String one = request(shop, "GET", "?name=agreed", null).body();
            String held = request(shop, "GET", "", null).body();
            String lock = "$.held[?(@.name == 'agreed')]";
            assertThat(JsonPath.<Number>read(one, "$.fencingToken").longValue()).isEqualTo(lease.fencingToken());
            assertThat(JsonPath.<List<Number>>read(held, lock + ".fencingToken"))
                    .extracting(Number::longValue)
                    .containsExactly(lease.fencingToken());
            assertThat(JsonPath.<Number>read(one, "$.reservedToken").longValue())
                    .isGreaterThanOrEqualTo(lease.fencingToken());
            for (String field : List.of("heldSince", "label", "thread")) {
                assertThat(JsonPath.<List<String>>read(held, lock + ".holders[0]." + field))
                        .containsExactly(JsonPath.<String>read(one, "$.holders[0]." + field));
            }
            assertThat(JsonPath.<String>read(one, "$.holders[0].label")).isEqualTo("Shop.sell");
        }
    }

    @Test
    void aManagementPortOfItsOwnHasThePageAndExactNames() throws Exception {
        for (WebApplicationType type : List.of(WebApplicationType.SERVLET, WebApplicationType.REACTIVE)) {
            try (ConfigurableApplicationContext shop = start(type, "management.server.port=0")) {
                LockLease neighbour = shop.getBean(LockTemplate.class).acquire("a/b");
                assertThat(typeOf(request(shop, "GET", "", BROWSER))).startsWith("text/html");
                assertThat(request(shop, "DELETE", "/a//b", null).body()).contains("\"released\":false");
                assertThat(neighbour.verify()).isTrue();
            }
        }
    }

    @Test
    void accessThatIsReadOnlyTakesForceReleaseFromThePage() throws Exception {
        try (ConfigurableApplicationContext shop =
                start(WebApplicationType.SERVLET, "management.endpoint.locks.access=read-only")) {
            assertThat(request(shop, "GET", "", BROWSER).body()).contains("data-force-release=\"false\"");
            assertThat(request(shop, "DELETE", "?name=a", null).statusCode()).isEqualTo(405);
        }
        try (ConfigurableApplicationContext shop = start(
                WebApplicationType.SERVLET,
                "lockkeeper.actuator.force-release.enabled=false",
                "management.endpoints.access.default=unrestricted")) {
            assertThat(request(shop, "GET", "", BROWSER).body()).contains("data-force-release=\"false\"");
            assertThat(request(shop, "DELETE", "?name=a", null).statusCode()).isEqualTo(405);
        }
    }

    @Test
    void thePageIsOneFileWhosePolicyPermitsItsOwnScriptAlone() throws Exception {
        String page =
                new ClassPathResource("locks.html", LocksWebExtension.class).getContentAsString(StandardCharsets.UTF_8);
        assertThat(page).isASCII();
        assertThat(page)
                .contains("default-src 'none'")
                .contains("script-src '" + hash(page, "script") + "'")
                .contains("style-src '" + hash(page, "style") + "'")
                .doesNotContainPattern("(src|href)=\"(https?:|//|[\\w/]+\\.(js|css|png|svg))");
        assertThat(page).doesNotContain("innerHTML", "insertAdjacentHTML", "eval(");
    }

    @Test
    void everyColourAndEveryClassOfThePageIsUsed() throws Exception {
        String page =
                new ClassPathResource("locks.html", LocksWebExtension.class).getContentAsString(StandardCharsets.UTF_8);
        String style = content(page, "style");
        String rest = page.replace(style, "");
        assertThat(Pattern.compile("(--[\\w-]+):").matcher(style).results().map(found -> found.group(1)))
                .isNotEmpty()
                .allMatch(name -> style.contains("var(" + name + ")"));
        assertThat(Pattern.compile("\\.([a-z-]+)").matcher(style).results().map(found -> found.group(1)))
                .isNotEmpty()
                .allMatch(rest::contains);
    }

    private static String content(String page, String element) {
        Matcher found = Pattern.compile("<" + element + ">(.*?)</" + element + ">", Pattern.DOTALL)
                .matcher(page);
        assertThat(found.find()).isTrue();
        return found.group(1);
    }

    private static String hash(String page, String element) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256")
                .digest(content(page, element).getBytes(StandardCharsets.UTF_8));
        return "sha256-" + Base64.getEncoder().encodeToString(digest);
    }
}
