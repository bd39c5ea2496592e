/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.autoconfigure.actuate.LocksDescription.Lock;
import io.lockkeeper.memory.MemoryLockStore;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;

/** Two templates, of which none is primary: each has its inspector, and the endpoint shows the locks of both. */
class SeveralTemplatesTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    LockkeeperAutoConfiguration.class,
                    LockkeeperEndpointAutoConfiguration.class,
                    LockkeeperHealthAutoConfiguration.class))
            .withPropertyValues(
                    "management.endpoints.web.exposure.include=locks", "lockkeeper.actuator.force-release.enabled=true")
            .withBean("orders", LockTemplate.class, SeveralTemplatesTest::template);

    private static LockTemplate template() {
        return LockTemplate.builder(new MemoryLockStore()).build();
    }

    @Test
    void eachHasAnInspectorOfItsOwn() {
        runner.withBean("stock", LockTemplate.class, SeveralTemplatesTest::template)
                .run(context -> {
                    assertThat(context).hasBean("lockkeeperHealthIndicator");
                    try (LockLease held =
                            context.getBean("orders", LockTemplate.class).acquire("a")) {
                        assertThat(held(context.getBean("ordersInspector", LockInspector.class)))
                                .containsExactly("a");
                        assertThat(held(context.getBean("stockInspector", LockInspector.class)))
                                .isEmpty();
                    }
                });
    }

    @Test
    void theInspectorOfOneThatHasTheUsualNameIsNamedAfterItToo() {
        runner.withBean("lockTemplate", LockTemplate.class, SeveralTemplatesTest::template)
                .run(context -> assertThat(context)
                        .hasBean("lockTemplateInspector")
                        .hasBean("ordersInspector")
                        .doesNotHaveBean("lockInspector"));
    }

    @Test
    void aForceReleaseThatIsNoBooleanIsRefusedAlsoWithoutTheEndpoint() {
        runner.withPropertyValues(
                        "management.endpoints.web.exposure.exclude=locks",
                        "lockkeeper.actuator.force-release.enabled=yess")
                .run(context -> assertThat(context).getFailure().rootCause().hasMessageContaining("yess"));
    }

    @Test
    void anotherBeanMayHaveTheNameOfAnInspector() {
        runner.withBean("stock", LockTemplate.class, SeveralTemplatesTest::template)
                .withBean("ordersInspector", String.class, () -> "inspects orders")
                .run(context -> {
                    assertThat(context.getBean("ordersInspector")).isEqualTo("inspects orders");
                    assertThat(context.getBean("stockInspector")).isInstanceOf(LockInspector.class);
                    assertThat(context.getBean(LocksEndpoint.class).here(null).held())
                            .isEmpty();
                });
    }

    private static List<String> held(LockInspector inspector) {
        return inspector.heldHere().stream().map(status -> status.name()).toList();
    }

    @Test
    void theEndpointSaysWhoseLockItIsAndTakesNoOtherAway() {
        runner.withBean("stock", LockTemplate.class, SeveralTemplatesTest::template)
                .run(context -> {
                    LocksEndpoint endpoint = context.getBean(LocksEndpoint.class);
                    LockLease first =
                            context.getBean("orders", LockTemplate.class).acquire("a");
                    assertThat(endpoint.lock("a").template()).isEqualTo("orders");
                    LockLease second =
                            context.getBean("stock", LockTemplate.class).acquire("a");
                    assertThat(endpoint.here(null).held())
                            .extracting(Lock::template)
                            .containsExactly("orders", "stock");
                    assertThat(endpoint.found("*", null, false, "stock").locks())
                            .extracting(Lock::template)
                            .containsExactly("stock");
                    assertThatExceptionOfType(InvalidEndpointRequestException.class)
                            .isThrownBy(() -> endpoint.forceRelease("a"))
                            .satisfies(refused -> assertThat(refused.getReason())
                                    .contains("give the parameter template, one of [orders, stock]"));
                    assertThatExceptionOfType(InvalidEndpointRequestException.class)
                            .isThrownBy(() -> endpoint.release("a", "other"));
                    assertThat(first.verify() && second.verify()).isTrue();

                    assertThat(endpoint.release("a", "stock").released()).isTrue();
                    assertThat(first.verify()).isTrue();
                    assertThat(second.verify()).isFalse();
                    assertThat(endpoint.forceRelease("a").released()).isTrue();
                    assertThat(first.verify()).isFalse();
                    assertThat(endpoint.forceRelease("a").released()).isFalse();
                });
    }

    @Test
    void anInspectorOfTheApplicationTakesThePlaceOfAll() {
        try (LockTemplate audited = template()) {
            runner.withBean("stock", LockTemplate.class, SeveralTemplatesTest::template)
                    .withBean("audited", LockInspector.class, audited::inspector)
                    .run(context -> {
                        context.getBean("orders", LockTemplate.class).acquire("a");
                        assertThat(context.getBean(LocksEndpoint.class)
                                        .here(null)
                                        .held())
                                .isEmpty();
                    });
        }
    }

    @Test
    void theNameOfASingleTemplateMayBeGiven() {
        runner.run(context -> {
            LocksEndpoint endpoint = context.getBean(LocksEndpoint.class);
            context.getBean("orders", LockTemplate.class).acquire("a");
            assertThat(endpoint.one("a", "orders").template()).isNull();
            assertThatExceptionOfType(InvalidEndpointRequestException.class)
                    .isThrownBy(() -> endpoint.one("a", "stock"))
                    .satisfies(refused -> assertThat(refused.getReason()).contains("one of [orders]"));
        });
    }

    @Test
    void theInspectorIsThatOfAPrimaryOneAndTheEndpointShowsAll() {
        runner.withBean(
                        "stock",
                        LockTemplate.class,
                        SeveralTemplatesTest::template,
                        definition -> definition.setPrimary(true))
                .run(context -> {
                    assertThat(context).hasSingleBean(LockInspector.class);
                    context.getBean("orders", LockTemplate.class).acquire("a");
                    context.getBean("stock", LockTemplate.class).acquire("b");
                    LocksEndpoint endpoint = context.getBean(LocksEndpoint.class);
                    assertThat(held(context.getBean(LockInspector.class))).containsExactly("b");
                    assertThat(endpoint.here(null).held())
                            .extracting(Lock::name, Lock::template)
                            .containsExactly(tuple("a", "orders"), tuple("b", "stock"));
                    assertThat(endpoint.release("a", "orders").released()).isTrue();
                    context.getBean("orders", LockTemplate.class).acquire("b");
                    assertThat(endpoint.lock("b").template()).isEqualTo("stock");
                });
    }

    @Test
    void aFurtherTemplateOfALaterAutoConfigurationLeavesTheInspectorOfTheFirst() {
        runner.withConfiguration(AutoConfigurations.of(LaterAutoConfiguration.class))
                .run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(LockInspector.class);
                    context.getBean("orders", LockTemplate.class).acquire("a");
                    context.getBean("later", LockTemplate.class).acquire("b");
                    assertThat(held(context.getBean(LockInspector.class))).containsExactly("a");
                    assertThat(context.getBean(LocksEndpoint.class).here(null).held())
                            .extracting(Lock::name, Lock::template)
                            .containsExactly(tuple("b", "later"), tuple("a", "orders"));
                });
    }

    @AutoConfiguration(after = LockkeeperHealthAutoConfiguration.class)
    static class LaterAutoConfiguration {

        @Bean
        LockTemplate later() {
            return template();
        }
    }
}
