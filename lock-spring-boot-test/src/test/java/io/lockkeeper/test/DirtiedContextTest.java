/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.annotation.DirtiesContext.MethodMode;

/** A test closes its application, and the extension, which was registered first, comes after that. */
class DirtiedContextTest {

    private static final AtomicInteger APPLICATIONS = new AtomicInteger();

    @AfterAll
    static void noApplicationIsMadeForTheEndOfATest() {
        // One is closed after its test; the other one, before its test, for which a third is made.
        assertThat(APPLICATIONS).hasValue(3);
    }

    @Nested
    @ExtendWith(LockFaultsExtension.class)
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {"lockkeeper.store=memory", "dirtied=after"})
    class After {

        @Test
        @DirtiesContext
        void leavesAFault(LockFaults faults) {
            assertThat(faults.storeDown()).isNotNull();
        }
    }

    @Nested
    @ExtendWith(LockFaultsExtension.class)
    @SpringBootTest(
            classes = Application.class,
            webEnvironment = WebEnvironment.NONE,
            properties = {"lockkeeper.store=memory", "dirtied=before"})
    class Before {

        @Test
        @DirtiesContext(methodMode = MethodMode.BEFORE_METHOD)
        void leavesAFault(LockFaults faults) {
            assertThat(faults.storeDown()).isNotNull();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        Application() {
            APPLICATIONS.incrementAndGet();
        }
    }
}
