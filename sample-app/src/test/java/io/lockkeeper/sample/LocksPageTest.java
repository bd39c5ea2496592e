/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.sample.browser.Browser;
import io.lockkeeper.sample.browser.Page;
import io.lockkeeper.testing.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The page that the endpoint shows in every application, in a real browser. */
@EnabledIf(
        value = "io.lockkeeper.sample.browser.Browser#isInstalled",
        disabledReason = "no chromium, chromium-browser or google-chrome on the PATH")
class LocksPageTest {

    /** What makes an application of one that has locks in memory and shows their page. */
    static final String[] PROPERTIES = {
        "spring.config.name=none",
        "spring.main.banner-mode=off",
        "spring.application.name=shop",
        "management.endpoints.web.exposure.include=locks",
        "lockkeeper.actuator.force-release.enabled=true",
        "lockkeeper.shutdown.wait=0",
        "lockkeeper.store=memory"
    };

    private static final Path PICTURES = Path.of("target", "pictures");
    private static final int PHONE_WIDTH = 390;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final String NASTY = "<script>alert('locked')</script>";

    private static final int port = RedisServer.freePort();
    private static ConfigurableApplicationContext shop;
    private static LockTemplate template;
    private static Browser browser;
    private static Page page;

    private final List<LockLease> leases = new ArrayList<>();
    private final List<CompletableFuture<LockLease>> waits = new ArrayList<>();

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {}

    @BeforeAll
    static void open() throws Exception {
        start();
        browser = Browser.start();
        page = browser.open();
        page.resize(1000, 760, false);
        page.prefer("light");
    }

    private static void start() {
        shop = new SpringApplicationBuilder(Shop.class)
                .web(WebApplicationType.SERVLET)
                .properties(PROPERTIES)
                .properties("server.port=" + port)
                .run();
        template = shop.getBean(LockTemplate.class);
    }

    @AfterAll
    static void close() throws Exception {
        try (Browser opened = browser;
                ConfigurableApplicationContext started = shop) {
            assertThat(List.of(opened, started)).doesNotContainNull();
        }
    }

    @BeforeEach
    void showThePage() {
        page.goTo("about:blank");
        page.goTo("http://localhost:" + port + "/actuator/locks");
        page.await("document.body.dataset.state === 'live'");
    }

    @AfterEach
    void release() {
        page.goTo("about:blank");
        for (CompletableFuture<LockLease> wait : waits) {
            wait.cancel(true);
            // One that was granted in the meantime cannot be cancelled.
            wait.thenAccept(LockLease::release);
        }
        leases.forEach(LockLease::release);
        // What a browser says of a lock that is free.
        page.forgetComplaintsAbout("status of 404");
        assertThat(page.complaints()).isEmpty();
    }

    private LockLease hold(LockTemplate holder, String name, String label) {
        LockLease lease = holder.acquire(LockRequest.of(name).withLabel(label));
        leases.add(lease);
        return lease;
    }

    private void await(LockTemplate waiter, String name, String label) {
        waits.add(waiter.acquireAsync(LockRequest.of(name).withLabel(label).withWaitTime(LONG)));
    }

    private LockTemplate another(String application) {
        return LockTemplate.builder(shop.getBean(MemoryLockStore.class).peer())
                .instanceName(application)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @Test
    void whatIsHeldAndWaitedForIsShownAsText() throws Exception {
        hold(template, "order:4711", "Orders.pay");
        hold(template, NASTY, "Nasty.name");
        try (LockTemplate stock = another("stock")) {
            hold(stock, "invoice:7", "Invoices.send");
            await(template, "invoice:7", "Invoices.print");
            awaitText("#waiting", "invoice:7");
            awaitText("#waiting", "Invoices.print");
            awaitText("#held", "order:4711");
            awaitText("#held", "Orders.pay");
            awaitText("#held", "thread " + Thread.currentThread().getName());
            awaitText("#held", "since ");
            awaitText("#held", NASTY.replace("'", "\\'"));
            awaitText("#instance", "shop on ");
            String bar = "Number(document.querySelector('#held .bar').dataset.part)";
            double first = page.evaluate(bar).asDouble();
            page.await(bar + " < " + first);
            stock.inspector().forceRelease("invoice:7");
            page.await("document.querySelectorAll('#waiting li').length === 0");
        }
    }

    @Test
    void oneLockShowsItsHolderAndQueueAndIsTakenAwayBehindAQuestion() throws Exception {
        try (LockTemplate stock = another("stock");
                LockTemplate billing = another("billing")) {
            LockLease lease = hold(template, "order:/4711//", "Orders.pay");
            await(stock, "order:/4711//", "Stock.take");
            awaitWaiters(1);
            await(billing, "order:/4711//", "Billing.book");
            awaitWaiters(2);
            // The row is filled when it comes into sight, and moves then: a click at a point could miss it.
            page.await("document.querySelector('#held a').getAttribute('href')");
            page.evaluate("document.querySelector('#held a').click()");
            page.await("!document.querySelector('#lock').hidden");
            awaitText("#lock-name", "order:/4711//");
            awaitText("#holders", "shop on ");
            awaitText("#holders", "Orders.pay");
            awaitText("#lock-token", Long.toString(lease.fencingToken()));
            page.await("document.querySelectorAll('#queue li').length === 2");
            assertThat(page.evaluate("document.querySelector('#queue').innerText")
                            .asString())
                    .containsSubsequence("stock on", "billing on");

            page.click("#force");
            page.await("document.activeElement.value === 'keep'");
            page.press("Escape", 27);
            page.await("!document.querySelector('dialog').open");
            assertThat(lease.isHeld()).isTrue();
            page.click("#force");
            page.click("[value=release]");

            awaitText("#result", "was taken away");
            page.await("document.querySelector('#holders').innerText.includes('stock on')");
            assertThat(lease.isHeld()).isFalse();
            leases.add(waits.get(0).get(20, TimeUnit.SECONDS));
        }
    }

    /** The event of a question that Escape has ended may come after the next one is answered. */
    @Test
    void oneYesReleasesALockOnceAlthoughItsDialogTellsItsEndTwice() throws Exception {
        try (LockTemplate stock = another("stock");
                LockTemplate billing = another("billing")) {
            hold(template, "order:/4711//", "Orders.pay");
            await(stock, "order:/4711//", "Stock.take");
            awaitWaiters(1);
            await(billing, "order:/4711//", "Billing.book");
            awaitWaiters(2);
            page.evaluate("location.hash = '#lock?name=' + encodeURIComponent('order:/4711//')");
            page.await("document.querySelectorAll('#queue li').length === 2");
            page.evaluate("{ window.sent = 0; const real = window.fetch; window.fetch = (...all) => {"
                    + " if (all[1]?.method === 'DELETE') window.sent++; return real(...all); }; }");
            page.click("#force");
            page.evaluate("{ const dialog = document.querySelector('dialog');"
                    + " dialog.addEventListener('close', () => dialog.onclose(), {once: true}); }");
            page.click("[value=release]");

            awaitText("#result", "was taken away");
            page.await("document.querySelector('#holders').innerText.includes('stock on')");
            assertThat(page.evaluate("String(window.sent)").asString()).isEqualTo("1");
            leases.add(waits.get(0).get(20, TimeUnit.SECONDS));
        }
    }

    private void awaitWaiters(int count) throws Exception {
        page.evaluate("location.hash = '#lock?name=' + encodeURIComponent('order:/4711//')");
        page.await("document.querySelectorAll('#queue li').length === " + count);
        page.evaluate("location.hash = '#here'");
        // The address changes at once, the page a moment later: a click before would miss.
        page.await("!document.querySelector('#here').hidden && document.querySelector('#lock').hidden");
    }

    @Test
    void aSearchFindsTheApplicationsOwnLocksUnlessAllAreAskedFor() throws Exception {
        try (LockTemplate stock = another("stock")) {
            hold(template, "order:1", "Orders.pay");
            hold(template, "invoice:1", "Invoices.send");
            hold(stock, "order:2", "Stock.take");
            page.press("/", 191);
            page.await("document.activeElement.id === 'pattern'");
            page.evaluate("document.activeElement.value = 'order'");
            page.press("Enter", 13);
            awaitText("#found", "order:1");
            page.await("document.querySelectorAll('#found li').length === 1");
            page.click("#others");
            awaitText("#found", "order:2");
            awaitText("#found", "stock on");
            assertThat(page.evaluate("document.querySelector('#found').innerText")
                            .asString())
                    .doesNotContain("invoice");
            page.click("#found li:nth-child(2) a");
            awaitText("#lock-lead", "Held by stock");
            awaitText("#lock-token", "known to its holder");
            page.press("Escape", 27);
            page.await("location.hash.startsWith('#find?pattern=order')");
        }
    }

    @Test
    void itSaysThatTheConnectionIsLostAndGoesOnWhenTheInstanceIsBack() {
        shop.close();
        awaitText("#connection", "Connection lost");
        start();
        awaitText("#connection", "Live");
        page.forgetComplaintsAbout("/actuator/locks");
    }

    @ParameterizedTest
    @CsvSource({"here, held", "find?all=true, found"})
    void aThousandLocksStaySmoothWithOneRequestASecond(String view, String list) {
        for (int lock = 0; lock < 1_000; lock++) {
            hold(template, "order:" + lock, "Orders.pay");
        }
        page.evaluate("location.hash = '#" + view + "'");
        page.await("document.querySelectorAll('#" + list + " li').length === 1000");
        page.evaluate("performance.clearResourceTimings(), window.begun = performance.now()");
        double before = page.scriptMillis();
        String requested = "performance.getEntriesByType('resource').length";
        page.await(requested + " >= 5");
        double script = page.scriptMillis() - before;
        double seconds = page.evaluate("(performance.now() - begun) / 1000").asDouble();
        double requests = page.evaluate(requested).asDouble();
        System.out.printf(
                "1,000 locks, #%s: %.2f requests a second, %.1f ms of script for each%n",
                view, requests / seconds, script / requests);
        assertThat(requests).isLessThanOrEqualTo(seconds + 1);
        assertThat(script / requests).isPositive().isLessThan(50);
    }

    @Test
    void anAddressWithAPatternShowsOwnLocksUnlessAllAreAskedFor() throws Exception {
        try (LockTemplate stock = another("stock")) {
            hold(template, "order:1", "Orders.pay");
            hold(stock, "order:2", "Stock.take");
            String locks = "http://localhost:" + port + "/actuator/locks?pattern=order:*";
            for (String own : List.of(locks, locks + "&own=true")) {
                page.goTo("about:blank");
                page.goTo(own);
                awaitText("#found-note", "this application");
                awaitText("#found", "order:1");
                page.await("document.querySelectorAll('#found li').length === 1");
            }
            page.goTo("about:blank");
            page.goTo(locks + "&own=false");
            awaitText("#found-note", "all applications");
            page.await("document.querySelectorAll('#found li').length === 2");
        }
    }

    @Test
    void aSearchSaysThatThereMayBeMore() throws Exception {
        try (LockTemplate stock = another("stock")) {
            for (int lock = 0; lock < 1_001; lock++) {
                hold(stock, "order:" + lock, "Stock.take");
            }
            hold(template, "order:own", "Orders.pay");
            page.evaluate("location.hash = '#find?pattern=order'");
            page.await("document.querySelectorAll('#found li').length === 1");
            awaitText("#found", "order:own");
            assertThat(page.evaluate("document.querySelector('#found-note').innerText")
                            .asString())
                    .doesNotContain("more");
            page.evaluate("location.hash = '#find?pattern=order&all=true'");
            awaitText("#found-note", "1,000 of them, there may be more");
        }
    }

    @Test
    void itFitsAPhoneAndTheKeyboardReachesALock() throws Exception {
        String thread = Thread.currentThread().getName();
        try (LockTemplate stock = another("stock")) {
            Thread.currentThread().setName("http-nio-8080-exec-3");
            hold(template, "order:4711", "OrderService.pay");
            hold(template, "nightly-report", "NightlyReport.write");
            hold(template, "import:customers", "CustomerImport.run");
            hold(template, "stock:" + "very-long-name-".repeat(6), "Warehouse.restock");
            hold(stock, "invoice:2024-118", "Invoices.send");
            await(template, "invoice:2024-118", "InvoiceService.print");
            await(stock, "order:4711", "Stock.reserve");
            page.await("document.querySelectorAll('#held li').length === 4");
            page.await("document.querySelectorAll('#waiting li').length === 1");
            photograph("locks");
            fitsAPhone();
            page.evaluate("[...document.querySelectorAll('#held a')]"
                    + ".find(link => link.innerText.includes('order:4711')).focus()");
            page.press("Enter", 13);
            awaitText("#queue", "stock on");
            photograph("lock");
            fitsAPhone();
            page.evaluate("location.hash = '#find?all=true'");
            page.await("document.querySelectorAll('#found li').length === 5");
            photograph("found");
            fitsAPhone();
        } finally {
            Thread.currentThread().setName(thread);
        }
    }

    private static void fitsAPhone() throws Exception {
        page.resize(PHONE_WIDTH, 844, true);
        assertThat(page.evaluate("document.documentElement.scrollWidth").asInt())
                .isLessThanOrEqualTo(PHONE_WIDTH);
        assertThat(page.evaluate("[...document.querySelectorAll('body *')]"
                                + ".filter(e => e.getBoundingClientRect().right > " + PHONE_WIDTH + ")"
                                + ".map(e => e.outerHTML).join('\\n')")
                        .asString())
                .as("what is cut off on a phone")
                .isEmpty();
        page.resize(1000, 760, false);
    }

    private static void photograph(String name) throws Exception {
        page.photograph(PICTURES.resolve(name + "-light.png"));
        page.prefer("dark");
        page.photograph(PICTURES.resolve(name + "-dark.png"));
        page.prefer("light");
        page.resize(PHONE_WIDTH, 844, true);
        page.photograph(PICTURES.resolve(name + "-phone.png"));
        page.resize(1000, 760, false);
    }

    private static void awaitText(String selector, String text) {
        page.await("document.querySelector('" + selector + "').innerText.includes('" + text + "')");
    }
}
