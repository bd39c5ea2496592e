/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLostException;
import io.lockkeeper.LockStoreException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** What the service of a user does when its lock is lost, taken or out of reach; on one store or another. */
@SpringBootTest(
        classes = ApplicationFaults.Application.class,
        webEnvironment = WebEnvironment.NONE,
        properties = "lockkeeper.redis.command-timeout=10s")
@ExtendWith(LockFaultsExtension.class)
abstract class ApplicationFaults {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(Shop.class)
    static class Application {}

    @Autowired
    private Shop shop;

    @AfterEach
    void workAsEver() {
        shop.whileSelling(() -> {});
    }

    @Test
    void aSaleFailsWhenItsLockIsLost(LockFaults faults) {
        shop.whileSelling(() -> faults.lose("stock:lamp"));
        assertThatThrownBy(() -> shop.sell("lamp")).isInstanceOf(LockLostException.class);
        shop.whileSelling(() -> {});
        assertThat(shop.sell("lamp")).isEqualTo("sold");
    }

    @Test
    void aSaleIsRefusedWhileAnotherInstanceSells(LockFaults faults) {
        try (Outage held = faults.hold("stock:lamp")) {
            assertThat(shop.sell("lamp")).isEqualTo("busy");
            assertThat(shop.sell("desk")).isEqualTo("sold");
        }
        assertThat(shop.sell("lamp")).isEqualTo("sold");
    }

    @Test
    void aSaleFailsWhileTheStoreIsDown(LockFaults faults) {
        faults.storeDown();
        assertThatThrownBy(() -> shop.sell("lamp")).isInstanceOf(LockStoreException.class);
        faults.clear();
        assertThat(shop.sell("lamp")).isEqualTo("sold");
    }
}
