/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import java.lang.management.ManagementFactory;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The endpoint as tools for JMX see it. */
class LocksOverJmxTest {

    private static final MBeanServer server = ManagementFactory.getPlatformMBeanServer();

    private static ConfigurableApplicationContext shop;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {}

    @BeforeAll
    static void start() {
        shop = new SpringApplicationBuilder(Shop.class)
                .web(WebApplicationType.NONE)
                .properties(
                        "spring.main.banner-mode=off",
                        "spring.jmx.enabled=true",
                        "spring.jmx.default-domain=io.lockkeeper.jmx",
                        "management.endpoints.jmx.exposure.include=locks",
                        "management.endpoints.jmx.domain=io.lockkeeper.jmx",
                        "lockkeeper.store=memory",
                        "lockkeeper.shutdown.wait=0",
                        "lockkeeper.actuator.force-release.enabled=true")
                .run();
    }

    @AfterAll
    static void stop() {
        shop.close();
    }

    private static @Nullable Object invoke(String operation, @Nullable Object... arguments) throws Exception {
        ObjectName name = server.queryNames(new ObjectName("io.lockkeeper.jmx:type=Endpoint,name=Locks,*"), null)
                .iterator()
                .next();
        return server.invoke(name, operation, arguments, new String[arguments.length]);
    }

    @ParameterizedTest
    @CsvSource(
            ignoreLeadingAndTrailingWhitespace = false,
            value = {"a//b,a/b", "/c,c", "d/,d", "e;f,e", "'i,j',i/j", "' k',k"})
    void aNameIsTakenExactly(String name, String other) throws Exception {
        LockTemplate template = shop.getBean(LockTemplate.class);
        try (LockLease neighbour = template.acquire(other)) {
            assertThat(invoke("lock", name, null)).isNull();
            assertThat(invoke("forceRelease", name, null)).isEqualTo(Map.of("name", name, "released", false));
            assertThat(neighbour.verify()).isTrue();

            LockLease lease = template.acquire(name);
            assertThat(invoke("lock", name))
                    .asInstanceOf(InstanceOfAssertFactories.MAP)
                    .containsEntry("name", name);
            assertThat(invoke("forceRelease", name)).isEqualTo(Map.of("name", name, "released", true));
            assertThat(lease.verify()).isFalse();
            assertThat(neighbour.verify()).isTrue();
        }
    }

    @Test
    void aRequestThatIsRefusedSaysWhy() {
        assertThatThrownBy(() -> invoke("lock", "a", "other"))
                .hasMessageContaining("give as the parameter template one of [lockTemplate]");
        assertThatThrownBy(() -> invoke("lock", " ", null)).hasMessageContaining("blank");
        assertThatThrownBy(() -> invoke("locks", "*", 0)).hasMessageContaining("limit");
    }
}
