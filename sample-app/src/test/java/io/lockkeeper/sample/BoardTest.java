/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.sample.Customer.Reply;
import io.lockkeeper.sample.browser.Browser;
import io.lockkeeper.sample.browser.Page;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.condition.EnabledIf;

/** The page in a real browser, served by one of two instances. */
@TestMethodOrder(OrderAnnotation.class)
@EnabledIf(
        value = "io.lockkeeper.sample.browser.Browser#isInstalled",
        disabledReason = "no chromium, chromium-browser or google-chrome on the PATH")
class BoardTest {

    private static final Path PICTURES = Path.of("target", "pictures");
    private static final int PHONE_WIDTH = 360;

    /** Keeps every text that the card of the lock has shown, for some are gone when the test looks. */
    private static final String REMEMBER_LOCK = """
            window.shown = [];
            window.handOversPerSecond = 0;
            new MutationObserver(() => {
              shown.push(document.querySelector('.lock').innerText);
              handOversPerSecond = Math.max(handOversPerSecond, document.querySelector('#hand-overs').innerText);
            }).observe(document.body, {subtree: true, childList: true, characterData: true})""";

    private static final Ports ports = Ports.free();
    private static ShopProcess one;
    private static ShopProcess two;
    private static Browser browser;
    private static Page page;

    @BeforeAll
    static void openThePage() throws Exception {
        one = new ShopProcess("one", ports.settings());
        two = new ShopProcess("two", ports.settings());
        browser = Browser.start();
        one.awaitLog("Started SampleApplication");
        two.awaitLog("Started SampleApplication");
        page = browser.open();
        page.resize(1100, 780, false);
        page.prefer("light");
        page.goTo(one.address());
        page.await("document.querySelectorAll('#targets input').length === 3");
    }

    @AfterAll
    static void close() throws Exception {
        try (ShopProcess first = one;
                ShopProcess second = two;
                Browser opened = browser) {
            assertThat(List.of(first, second, opened)).doesNotContainNull();
        }
        ports.awaitClosed();
    }

    @AfterEach
    void theConsoleIsSilent() {
        assertThat(page.complaints()).isEmpty();
    }

    @Test
    @Order(1)
    void withoutTheLockItSaysHowManyOrdersAreTooMany() {
        awaitText("#verdict", "agree");
        page.click("[data-action=burst][data-mode=unlocked]");

        awaitText("#result", "200 sold");
        awaitText("#verdict", "too many");
        awaitText("#of-units", "200 sold");
    }

    @Test
    @Order(2)
    void aSaleChangesTheStock() {
        page.click("[data-action=restart]");
        awaitText("#remaining", "500");
        awaitText("#verdict", "agree");

        page.click("[data-action=one][data-mode=locked]");
        awaitText("#remaining", "499");
        awaitText("#result", "499 left");

        page.click("[data-action=burst][data-mode=locked]");
        awaitText("#remaining", "299");
        awaitText("#verdict", "agree");
        assertThat(page.evaluate("document.querySelectorAll('#last-orders [data-mark]').length")
                        .asInt())
                .isEqualTo(60);
        page.await("document.querySelector('#instances tr:nth-child(1) td').innerText >= 100"
                + " && document.querySelector('#instances tr:nth-child(2) td').innerText >= 100");
    }

    @Test
    @Order(3)
    void aLockGoesFromOneInstanceToTheOther() throws Exception {
        page.evaluate(REMEMBER_LOCK);
        CompletableFuture<Reply> hold = one.customer().postAsync("/hold?seconds=6");
        awaitText(".holder", "Held by one");
        page.click("#targets input[value=two]");
        page.click("[data-action=hold]");

        awaitShown("Held by one", "two", "1 caller, exclusive");
        awaitShown("Held by two", "Last hand-over: to two");
        page.await("handOversPerSecond > 0");
        assertThat(hold.get(60, TimeUnit.SECONDS).body().get("stillHeld").asBoolean())
                .isTrue();
        awaitText("#result", "two held the lock for 4.");
        awaitText(".holder", "Nobody holds it");
    }

    @Test
    @Order(4)
    void aPausedHolderShowsWhoWaitsAndLosesTheLockByForce() throws Exception {
        page.click("#targets input[value=\"\"]");
        page.click("[data-action=burst][data-mode=locked]");
        awaitText("#result", "200 sold");
        awaitText(".holder", "Nobody holds it");
        CompletableFuture<Reply> hold = one.customer().postAsync("/hold?seconds=60");
        awaitText(".holder", "Held by one");
        CompletableFuture<Reply> order = two.customer().postAsync("/hold?seconds=0");
        awaitText(".queue", "1 caller, exclusive");
        page.await("parseFloat(document.querySelector('.queue li .waited').innerText) > 0.2");
        assertThat(page.evaluate("document.querySelector('.queue').innerText").asString())
                .contains("two", "process", "1 caller, exclusive");
        assertThat(page.evaluate("document.querySelector('.lease div').offsetWidth")
                        .asInt())
                .isPositive();
        takePictures();

        page.click(".force");
        page.await("document.activeElement.value === 'keep'");
        page.press("Escape", 27);
        page.await("!document.querySelector('dialog').open");
        assertThat(hold).isNotDone();
        page.click(".force");
        page.click("[value=release]");

        awaitText("#result", "released by force");
        assertThat(hold.get(60, TimeUnit.SECONDS).body().get("stillHeld").asBoolean())
                .isFalse();
        assertThat(order.get(60, TimeUnit.SECONDS).status()).isEqualTo(200);
        awaitText(".holder", "Nobody holds it");
    }

    @Test
    @Order(5)
    void itSaysWhenItsInstanceIsGoneAndGoesOnWhenItIsBack() throws Exception {
        ShopProcess stopped = one;
        stopped.stop();
        awaitText("#connection", "Connection lost");
        page.await("document.querySelector('#controls').disabled");

        one = stopped.startAgain();
        stopped.close();
        awaitText("#connection", "Live, served by one");
        page.await("!document.querySelector('#controls').disabled");
        page.forgetComplaintsAbout("/events");
    }

    private static void takePictures() throws Exception {
        page.resize(PHONE_WIDTH, 780, true);
        assertThat(page.evaluate("[...document.querySelectorAll('body *')]"
                                + ".filter(e => e.getBoundingClientRect().right > " + PHONE_WIDTH + ")"
                                + ".map(e => e.outerHTML).join('\\n')")
                        .asString())
                .as("what is cut off on a phone")
                .isEmpty();
        assertThat(page.evaluate("document.documentElement.scrollWidth").asInt())
                .isLessThanOrEqualTo(PHONE_WIDTH);
        page.photograph(PICTURES.resolve("board-phone.png"));
        page.resize(1100, 780, false);
        page.evaluate("scrollTo(0, 0)");
        page.photograph(PICTURES.resolve("board-light.png"));
        page.prefer("dark");
        page.photograph(PICTURES.resolve("board-dark.png"));
        page.prefer("light");
    }

    private static void awaitText(String selector, String text) {
        page.await("document.querySelector('" + selector + "').innerText.includes('" + text + "')");
    }

    /** Waits until the card of the lock has shown the texts together, now or before. */
    private static void awaitShown(String... texts) {
        String all = String.join("', '", texts);
        page.await("shown.some(text => ['" + all + "'].every(part => text.includes(part)))");
    }
}
