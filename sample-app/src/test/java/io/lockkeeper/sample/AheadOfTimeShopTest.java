/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.sample.Customer.Reply;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The shop as the build has processed it, without a look at its classes at run time. */
class AheadOfTimeShopTest {

    @Test
    void theShopSellsUnderTheLock() throws Exception {
        Ports ports = Ports.free();
        List<String> settings = new ArrayList<>(ports.settings());
        settings.add("--lockkeeper.wait-time=3s");
        try (ShopProcess shop = new ShopProcess("aot", List.of("-Dspring.aot.enabled=true"), settings)) {
            shop.awaitLog("Starting AOT-processed SampleApplication");
            shop.awaitLog("Started SampleApplication");
            shop.customer().post("/stock/lamp?units=2");
            Reply locked = shop.customer().post("/orders?product=lamp&mode=locked");
            Reply fenced = shop.customer().post("/orders?product=lamp&mode=fenced");
            assertThat(locked.status()).isEqualTo(201);
            assertThat(fenced.body().get("token").asLong())
                    .isGreaterThan(locked.body().get("token").asLong());

            shop.customer().postAsync("/hold?seconds=60");
            shop.awaitLog("Holding stock:lamp");
            Reply busy = shop.customer().post("/orders?product=lamp&mode=locked");
            assertThat(busy.text("reason")).isEqualTo("LOCK_NOT_ACQUIRED");
        }
        ports.awaitClosed();
    }
}
