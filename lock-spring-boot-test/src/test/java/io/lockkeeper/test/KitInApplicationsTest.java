/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** The kit beside several stores, as a field of test instances, and in tests that run at the same time. */
class KitInApplicationsTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LockkeeperAutoConfiguration.class, LockFaultsAutoConfiguration.class))
            .withPropertyValues("lockkeeper.store=memory");

    private final ExtensionContext test = test();

    @Test
    void aStoreIsInjectedByItsClass() {
        runner.run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(MemoryLockStore.class)).isSameAs(context.getBean(LockStore.class));
            assertFaults(context.getBean(LockFaults.class), context.getBean(LockTemplate.class));
        });
    }

    /** No proxy can extend it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aStoreThatCannotBeExtendedIsInjectedByItsInterfaces(boolean isFinal) {
        AuditedStore real = isFinal ? new FinalStore() : new HiddenStore();
        runner.withBean("audited", AuditedStore.class, () -> real).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(AuditedStore.class)).isSameAs(context.getBean(LockStore.class));
            assertThat(context.getBean(AuditedStore.class).audit()).isEqualTo("audited");
            assertFaults(context.getBean(LockFaults.class), context.getBean(LockTemplate.class));
        });
    }

    @Test
    void theFaultsAreThoseOfThePrimaryStore() {
        runner.withUserConfiguration(TwoStores.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertFaults(context.getBean(LockFaults.class), context.getBean(LockTemplate.class));
        });
    }

    @Test
    void twoTemplatesMayHaveAStoreEach() {
        runner.withUserConfiguration(TwoTemplates.class).run(context -> {
            assertThat(context).hasNotFailed();
            try (Outage down = context.getBean(LockFaults.class).storeDown()) {
                assertThat(context.getBeansOfType(LockTemplate.class).values())
                        .filteredOn(KitInApplicationsTest::isDown)
                        .hasSize(1);
            }
        });
    }

    /** Others may use the same store after that. */
    @Test
    void whatIsHeldEndsWithTheApplication() {
        AtomicReference<MemoryLockStore> peer = new AtomicReference<>();
        runner.run(context -> {
            context.getBean(LockFaults.class).hold("left over");
            peer.set(context.getBean(MemoryLockStore.class).peer());
        });
        try (LockTemplate elsewhere = LockTemplate.builder(peer.get()).build()) {
            assertThat(elsewhere.tryRun(LockRequest.of("left over").withWaitTime(Duration.ZERO), lease -> {}))
                    .isTrue();
        }
    }

    @Test
    void theTemplateOfAnInstanceIsClosedAfterItsTest() {
        LockFaultsExtension extension = LockFaultsExtension.inMemory();
        extension.beforeEach(test);
        assertThat(isDown(extension.template())).isFalse();
        extension.afterEach(test);
        assertThat(isDown(extension.template())).isTrue();
    }

    @Test
    void theTemplateOfAClassIsClosedAfterItsLastTest() {
        LockFaultsExtension extension = LockFaultsExtension.inMemory();
        extension.beforeAll(test);
        extension.beforeAll(test);
        extension.beforeEach(test);
        extension.afterEach(test);
        extension.afterAll(test);
        assertThat(isDown(extension.template())).isFalse();
        extension.afterAll(test);
        assertThat(isDown(extension.template())).isTrue();
    }

    @Test
    void theEndOfATestLeavesTheFaultsOfOthers() {
        LockFaultsExtension extension = LockFaultsExtension.inMemory();
        extension.beforeAll(test);
        extension.beforeEach(test);
        LockFaults faults = (LockFaults) extension.resolveParameter(parameter(), test);
        faults.storeDown();
        CompletableFuture.runAsync(() -> {
                    ExtensionContext other = test();
                    extension.beforeEach(other);
                    faults.hold("left over");
                    extension.afterEach(other);
                })
                .join();
        assertThat(isDown(extension.template())).isTrue();
        CompletableFuture.runAsync(faults::renewalsFail).join();
        extension.afterEach(test);
        assertThat(isDown(extension.template())).isFalse();
        assertThat(extension.template().tryRun("left over", lease -> {})).isTrue();
        extension.afterAll(test);
    }

    @Test
    void aFaultWithoutAStoreIsRefused() {
        LockFaults faults = new LockFaults();
        for (ThrowingCallable fault : List.<ThrowingCallable>of(
                faults::storeDown, faults::storeSilent, faults::renewalsFail, faults::withoutWaiting)) {
            assertThatIllegalStateException().isThrownBy(fault).withMessageContaining("watch no store");
        }
        runner.withPropertyValues("lockkeeper.enabled=false").run(context -> assertThatIllegalStateException()
                .isThrownBy(context.getBean(LockFaults.class)::storeDown)
                .withMessageContaining("watch no store"));
    }

    /** A store would take any name. */
    @Test
    void aNameThatNoRequestMayHaveIsRefused() {
        LockFaults faults = new LockFaults();
        faults.watch(new MemoryLockStore());
        for (String name : List.of(" ", "x".repeat(1 << 20))) {
            assertThatIllegalArgumentException().isThrownBy(() -> faults.hold(name));
        }
        try (Outage held = faults.hold("{braces}")) {
            assertThatIllegalStateException().isThrownBy(() -> faults.hold("{braces}"));
        }
    }

    @Test
    void aFaultMakesTheStoreOfALazyApplication() {
        runner.withInitializer(context ->
                        context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
                .run(context -> {
                    try (Outage held = context.getBean(LockFaults.class).hold("stock")) {
                        assertThat(context.getBean(LockTemplate.class)
                                        .tryAcquire(LockRequest.of("stock").withWaitTime(Duration.ZERO)))
                                .isEmpty();
                    }
                    assertFaults(context.getBean(LockFaults.class), context.getBean(LockTemplate.class));
                });
    }

    @Test
    void aFaultThatCannotBeEndedLeavesNoOther() {
        AtomicBoolean gone = new AtomicBoolean();
        LockFaults faults = new LockFaults();
        MemoryLockStore store = new MemoryLockStore() {
            @Override
            public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
                return gone.get()
                        ? CompletableFuture.failedFuture(new StoreException("gone", null))
                        : super.release(command);
            }
        };
        try (LockTemplate template = LockTemplate.builder(faults.watch(store))
                .shutdownWait(Duration.ZERO)
                .build()) {
            for (int i = 0; i < 5; i++) {
                faults.hold("held-" + i);
                faults.storeDown();
            }
            gone.set(true);

            assertThatIllegalStateException()
                    .isThrownBy(faults::clear)
                    .satisfies(failure -> assertThat(failure.getSuppressed()).hasSize(4));

            gone.set(false);
            assertThat(isDown(template)).isFalse();
        }
    }

    @Test
    void aStoreThatIsDownGrantsNothing() {
        LockFaults faults = new LockFaults();
        try (LockTemplate template = LockTemplate.builder(faults.watch(new MemoryLockStore()))
                .leaseTime(Duration.ofSeconds(1))
                .shutdownWait(Duration.ZERO)
                .build()) {
            Outage held = faults.hold("stock");
            CompletableFuture<LockLease> waiting =
                    template.acquireAsync(LockRequest.of("stock").withWaitTime(Duration.ofSeconds(20)));
            Outage down = faults.storeDown();
            held.close();
            // The memory grants within the release.
            assertThat(template.inspector().heldHere()).isEmpty();
            down.close();
            assertThat(waiting).succeedsWithin(Duration.ofSeconds(20));
        }
    }

    private static ExtensionContext test() {
        Map<Object, Object> values = new ConcurrentHashMap<>();
        ExtensionContext.Store store = mock(ExtensionContext.Store.class);
        when(store.get(any())).thenAnswer(call -> values.get(call.getArgument(0)));
        when(store.remove(any())).thenAnswer(call -> values.remove(call.getArgument(0)));
        doAnswer(call -> values.put(call.getArgument(0), call.getArgument(1)))
                .when(store)
                .put(any(), any());
        ExtensionContext test = mock(ExtensionContext.class);
        when(test.getStore(any())).thenReturn(store);
        return test;
    }

    private static ParameterContext parameter() {
        try {
            ParameterContext context = mock(ParameterContext.class);
            when(context.getParameter())
                    .thenReturn(KitInApplicationsTest.class.getDeclaredMethod("takes", LockFaults.class)
                            .getParameters()[0]);
            return context;
        } catch (NoSuchMethodException impossible) {
            throw new AssertionError(impossible);
        }
    }

    static boolean takes(LockFaults faults) {
        return faults != null;
    }

    private static boolean isDown(LockTemplate template) {
        try {
            return !template.tryRun("stock", lease -> {});
        } catch (LockStoreException down) {
            return true;
        }
    }

    private static void assertFaults(LockFaults faults, LockTemplate template) {
        try (Outage down = faults.storeDown()) {
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> template.run("stock", lease -> {}));
        }
        assertThat(isDown(template)).isFalse();
    }

    interface AuditedStore extends LockStore {
        String audit();
    }

    private static final class FinalStore extends MemoryLockStore implements AuditedStore {
        @Override
        public String audit() {
            return "audited";
        }
    }

    static class HiddenStore extends MemoryLockStore implements AuditedStore {
        private HiddenStore() {}

        @Override
        public String audit() {
            return "audited";
        }
    }

    static class TwoStores {
        @Bean
        MemoryLockStore other() {
            return new MemoryLockStore();
        }

        @Bean
        @Primary
        MemoryLockStore main() {
            return new MemoryLockStore();
        }
    }

    static class TwoTemplates {
        @Bean
        MemoryLockStore oneStore() {
            return new MemoryLockStore();
        }

        @Bean
        MemoryLockStore otherStore() {
            return new MemoryLockStore();
        }

        @Bean
        LockTemplate one(MemoryLockStore oneStore) {
            return LockTemplate.builder(oneStore).build();
        }

        @Bean
        LockTemplate other(MemoryLockStore otherStore) {
            return LockTemplate.builder(otherStore).build();
        }
    }
}
