/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import com.jayway.jsonpath.JsonPath;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import java.net.CookieManager;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configuration.EnableWebSecurity;
import org.springframework.security.web.SecurityFilterChain;

/** The page where Spring Security protects against forged requests, as it does by default. */
class CsrfPageTest {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableWebSecurity
    static class GuardedShop {

        @Bean
        SecurityFilterChain chain(HttpSecurity http) throws Exception {
            return http.authorizeHttpRequests(requests -> requests.anyRequest().permitAll())
                    .csrf(Customizer.withDefaults())
                    .build();
        }
    }

    @Test
    void thePageHasTheTokenWithoutWhichALockCannotBeTakenAway() throws Exception {
        try (ConfigurableApplicationContext shop = new SpringApplicationBuilder(GuardedShop.class)
                        .web(WebApplicationType.SERVLET)
                        .properties(
                                "server.port=0",
                                "spring.main.banner-mode=off",
                                "management.endpoints.web.exposure.include=locks",
                                "lockkeeper.store=memory",
                                "lockkeeper.shutdown.wait=0",
                                "lockkeeper.actuator.force-release.enabled=true")
                        .run();
                LockLease lease = shop.getBean(LockTemplate.class).acquire("a")) {
            URI locks = URI.create(
                    "http://localhost:" + shop.getEnvironment().getProperty("local.server.port") + "/actuator/locks");
            HttpClient http =
                    HttpClient.newBuilder().cookieHandler(new CookieManager()).build();
            URI lock = URI.create(locks + "?name=a");
            assertThat(http.send(HttpRequest.newBuilder(lock).DELETE().build(), BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(403);
            assertThat(lease.verify()).isTrue();
            String page = http.send(
                            HttpRequest.newBuilder(locks)
                                    .header("Accept", "text/html")
                                    .build(),
                            BodyHandlers.ofString())
                    .body();

            HttpResponse<String> forced = http.send(
                    HttpRequest.newBuilder(lock)
                            .DELETE()
                            .header(attribute(page, "csrf-header"), attribute(page, "csrf-token"))
                            .build(),
                    BodyHandlers.ofString());

            assertThat(forced.statusCode()).isEqualTo(200);
            assertThat(JsonPath.<Boolean>read(forced.body(), "$.released")).isTrue();
        }
    }

    private static String attribute(String page, String name) {
        Matcher found = Pattern.compile("data-" + name + "=\"([^\"]+)\"").matcher(page);
        assertThat(found.find()).as(name).isTrue();
        return found.group(1);
    }
}
