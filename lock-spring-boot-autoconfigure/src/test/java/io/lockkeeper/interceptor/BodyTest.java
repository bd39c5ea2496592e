/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static io.lockkeeper.interceptor.LockedApplication.whileHeldElsewhere;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockedTask;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.memory.MemoryLockStore;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentMatchers;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class BodyTest {

    private final ApplicationContextRunner runner = runner().withBean(Shop.class);

    @Test
    void theBodyRunsUnderTheLockAndTheLockIsReleased() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.heldNames("a")).containsExactly("shop:a");
            assertThat(context.getBean(LockTemplate.class).lock("shop:a").isLocked())
                    .isFalse();
        });
    }

    @Test
    void anExceptionOfTheBodyReachesTheCallerUnchangedAndTheLockIsReleased() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            for (Exception failure : List.of(
                    new IOException("checked"),
                    new IllegalStateException("unchecked"),
                    new LockStoreException("of another lock", null),
                    new LockNotAcquiredException(List.of("another"), Duration.ZERO, 1, null))) {
                assertThatThrownBy(() -> shop.failing(failure))
                        .isSameAs(failure)
                        .hasNoSuppressedExceptions();
            }
            assertThat(context.getBean(LockTemplate.class).lock("shop").isLocked())
                    .isFalse();
        });
    }

    @Test
    void aSkippedCallReturnsNullOrAnEmptyOptional() {
        runner.run(context -> whileHeldElsewhere(context, "shop", () -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.skippedText()).isNull();
            assertThat(shop.skippedOptional()).isEmpty();
            shop.skipped();
        }));
    }

    @Test
    void aCallIsNotSkippedWhenTheLockIsFree() {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            assertThat(shop.skippedText()).isEqualTo("ran");
            assertThat(shop.skippedOptional()).contains("ran");
        });
    }

    @Test
    void aFailingStoreIsNeverSkipped() {
        LockStoreException failure = new LockStoreException("down", null);
        LockOperations failing = mock(LockOperations.class);
        doThrow(failure)
                .when(failing)
                .run(any(LockRequest.class), ArgumentMatchers.<LockedTask<RuntimeException>>any());
        runner.withBean(LockOperations.class, () -> failing)
                .run(context ->
                        assertThatThrownBy(context.getBean(Shop.class)::skipped).isSameAs(failure));
    }

    @Test
    void aBodyThatDoesNotGetAnotherLockIsNotSkipped() {
        LockNotAcquiredException inner = new LockNotAcquiredException(List.of("inner"), Duration.ZERO, 1, null);
        runner.run(
                context -> assertThatThrownBy(() -> context.getBean(Shop.class).skippable(inner))
                        .isSameAs(inner));
    }

    @Test
    void theNamedTemplateLocks() {
        MemoryLockStore store = new MemoryLockStore();
        try (LockTemplate check = LockTemplate.builder(store.peer()).build()) {
            runner().withBean(Named.class)
                    .withBean("stock", LockTemplate.class, () -> LockTemplate.builder(store)
                            .build())
                    .withBean("other", LockOperations.class, LockOperations::withoutLocking)
                    .run(context -> assertThat(context.getBean(Named.class).isLockedIn(check))
                            .isTrue());
        }
    }

    static class Named {
        @DistributedLocked(name = "shop", lockTemplate = "stock")
        boolean isLockedIn(LockTemplate other) {
            return other.lock("shop").isLocked();
        }
    }

    static class Shop {

        @DistributedLocked("shop:#{#key}")
        List<String> heldNames(String key) {
            return LockContext.require().names();
        }

        @DistributedLocked("shop")
        void failing(Exception failure) throws Exception {
            throw failure;
        }

        @DistributedLocked(name = "shop", skipWhenLocked = true)
        String skippedText() {
            return "ran";
        }

        @DistributedLocked(name = "shop", skipWhenLocked = true)
        Optional<String> skippedOptional() {
            return Optional.of("ran");
        }

        @DistributedLocked(name = "shop", skipWhenLocked = true)
        void skipped() {}

        @DistributedLocked(name = "shop", skipWhenLocked = true)
        void skippable(RuntimeException failure) {
            throw failure;
        }
    }
}
