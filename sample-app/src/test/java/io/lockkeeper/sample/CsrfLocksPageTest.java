/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.sample.browser.Browser;
import io.lockkeeper.sample.browser.Page;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configuration.EnableWebSecurity;
import org.springframework.security.config.annotation.web.reactive.EnableWebFluxSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.config.web.server.ServerHttpSecurity.CsrfSpec;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.server.SecurityWebFilterChain;
import org.springframework.security.web.server.csrf.CookieServerCsrfTokenRepository;
import org.springframework.security.web.server.csrf.CsrfToken;
import org.springframework.security.web.server.csrf.ServerCsrfTokenRequestAttributeHandler;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/**
 * The page of the endpoint in a browser, where Spring Security protects against forged requests, under MVC and WebFlux.
 */
@EnabledIf(
        value = "io.lockkeeper.sample.browser.Browser#isInstalled",
        disabledReason = "no chromium, chromium-browser or google-chrome on the PATH")
class CsrfLocksPageTest {

    private static Browser browser;
    private static Page page;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableWebSecurity
    static class ServletShop {

        @Bean
        SecurityFilterChain chain(HttpSecurity http) throws Exception {
            return http.authorizeHttpRequests(requests -> requests.anyRequest().permitAll())
                    .csrf(Customizer.withDefaults())
                    .build();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableWebFluxSecurity
    static class ReactiveShop {

        @Bean
        SecurityWebFilterChain chain(ServerHttpSecurity http) {
            return reactive(http, Customizer.withDefaults());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableWebFluxSecurity
    static class ReactiveShopWithCookie {

        @Bean
        SecurityWebFilterChain chain(ServerHttpSecurity http) {
            return reactive(
                    http, csrf -> csrf.csrfTokenRepository(CookieServerCsrfTokenRepository.withHttpOnlyFalse()));
        }

        @Bean
        WebFilter csrfCookie() {
            return cookieFilter();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableWebFluxSecurity
    static class ReactiveShopWithPlainCookie {

        @Bean
        SecurityWebFilterChain chain(ServerHttpSecurity http) {
            return reactive(http, csrf -> csrf.csrfTokenRepository(CookieServerCsrfTokenRepository.withHttpOnlyFalse())
                    .csrfTokenRequestHandler(new ServerCsrfTokenRequestAttributeHandler()));
        }

        @Bean
        WebFilter csrfCookie() {
            return cookieFilter();
        }
    }

    private static SecurityWebFilterChain reactive(ServerHttpSecurity http, Customizer<CsrfSpec> csrf) {
        return http.authorizeExchange(requests -> requests.anyExchange().permitAll())
                .csrf(csrf)
                .build();
    }

    /** Sends the cookie, as the documentation of Spring Security says. */
    private static WebFilter cookieFilter() {
        return (exchange, chain) -> {
            Mono<CsrfToken> token = exchange.getAttributeOrDefault(CsrfToken.class.getName(), Mono.empty());
            return token.then(chain.filter(exchange));
        };
    }

    @BeforeAll
    static void open() throws Exception {
        browser = Browser.start();
        page = browser.open();
    }

    @AfterAll
    static void close() throws Exception {
        browser.close();
    }

    @Test
    void underMvcThePageHasTheToken() {
        assertThat(forceRelease(ServletShop.class, WebApplicationType.SERVLET)).contains("was taken away");
    }

    @Test
    void underWebFluxThePageTakesTheTokenOfTheCookie() {
        assertThat(forceRelease(ReactiveShopWithCookie.class, WebApplicationType.REACTIVE))
                .contains("was taken away");
    }

    @Test
    void theTokenOfTheCookieMayBeWantedAsItIs() {
        assertThat(forceRelease(ReactiveShopWithPlainCookie.class, WebApplicationType.REACTIVE))
                .contains("was taken away");
    }

    @Test
    void whereThePageHasNoTokenItSaysWhatToDo() {
        assertThat(forceRelease(ReactiveShop.class, WebApplicationType.REACTIVE))
                .contains("refused it (403)", "a token that this page was not given", "the cookie XSRF-TOKEN");
    }

    /** Takes a lock away in the browser, and returns what the page says. */
    private static String forceRelease(Class<?> shop, WebApplicationType type) {
        try (ConfigurableApplicationContext started = new SpringApplicationBuilder(shop)
                        .web(type)
                        .properties(LocksPageTest.PROPERTIES)
                        .properties("server.port=0")
                        .run();
                LockLease lease = started.getBean(LockTemplate.class).acquire("order:1")) {
            page.goTo("about:blank");
            page.goTo("http://localhost:" + started.getEnvironment().getProperty("local.server.port")
                    + "/actuator/locks?name=order:1");
            page.await("document.querySelector('#lock-lead').innerText.includes('Held by shop')");
            page.click("#force");
            page.await("document.querySelector('dialog').open");
            page.click("[value=release]");
            page.await("document.querySelector('#result').innerText !== ''");
            String result =
                    page.evaluate("document.querySelector('#result').innerText").asString();
            assertThat(lease.verify()).isNotEqualTo(result.contains("was taken away"));
            page.forgetComplaintsAbout("/actuator/locks");
            assertThat(page.complaints()).isEmpty();
            return result;
        }
    }
}
