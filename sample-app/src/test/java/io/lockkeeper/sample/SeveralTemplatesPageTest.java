/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.sample.browser.Browser;
import io.lockkeeper.sample.browser.Page;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The page of an application with two templates that hold locks of one name. */
@EnabledIf(
        value = "io.lockkeeper.sample.browser.Browser#isInstalled",
        disabledReason = "no chromium, chromium-browser or google-chrome on the PATH")
class SeveralTemplatesPageTest {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {

        @Bean
        LockTemplate orders() {
            return LockTemplate.builder(new MemoryLockStore())
                    .shutdownWait(Duration.ZERO)
                    .build();
        }

        @Bean
        LockTemplate stock() {
            return LockTemplate.builder(new MemoryLockStore())
                    .shutdownWait(Duration.ZERO)
                    .build();
        }
    }

    @Test
    void eachLockHasItsTemplateAndOnlyItIsTakenAway() throws Exception {
        try (ConfigurableApplicationContext shop = new SpringApplicationBuilder(Shop.class)
                        .web(WebApplicationType.SERVLET)
                        .properties(
                                "spring.config.name=none",
                                "server.port=0",
                                "spring.main.banner-mode=off",
                                "management.endpoints.web.exposure.include=locks",
                                "lockkeeper.actuator.force-release.enabled=true")
                        .run();
                LockLease orders = shop.getBean("orders", LockTemplate.class).acquire("lamp");
                LockLease stock = shop.getBean("stock", LockTemplate.class).acquire("lamp");
                Browser browser = Browser.start()) {
            Page page = browser.open();
            String locks =
                    "http://localhost:" + shop.getEnvironment().getProperty("local.server.port") + "/actuator/locks";
            page.goTo(locks);
            for (String list : new String[] {"held", "found"}) {
                page.await("document.querySelectorAll('#" + list + " li').length === 2");
                page.await("document.querySelector('#" + list + "').innerText.includes('template orders')");
                page.await("document.querySelector('#" + list + "').innerText.includes('template stock')");
                page.evaluate("location.hash = '#find'");
            }
            page.click("#found a[href*=\"template=stock\"]");
            page.await("document.querySelector('#lock-template').innerText === 'stock'");
            page.await("document.querySelector('#lock-lead').innerText.includes('Held by')");

            page.click("#force");
            page.click("[value=release]");

            page.await("document.querySelector('#result').innerText.includes('was taken away')");
            assertThat(stock.verify()).isFalse();
            assertThat(orders.verify()).isTrue();

            LockLease again = shop.getBean("stock", LockTemplate.class).acquire("lamp");
            page.goTo("about:blank");
            page.goTo(locks + "?name=lamp");
            page.await("document.querySelector('#lock-lead').innerText.includes('one of [orders, stock]')");
            assertThat(page.evaluate("document.body.dataset.state").asString()).isEqualTo("refused");
            again.release();
            page.forgetComplaintsAbout("/actuator/locks?name=lamp");
            assertThat(page.complaints()).isEmpty();
        }
    }
}
