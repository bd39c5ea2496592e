/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.store.RenewCommand;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A caller enters a lock again for longer, and ends its future while the store extends the hold. */
class CancelledExtensionTest {

    private static final Duration LEASE = Duration.ofMinutes(1);

    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final MemoryLockStore store = new MemoryLockStore();
    private final LockTemplate template = LockTemplate.builder(new DelegatingStore(store) {
                @Override
                public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                    return commands.stream()
                            .map(command -> CompletableFuture.supplyAsync(
                                    () -> super.renew(List.of(command)).get(0).join(), threads))
                            .toList();
                }
            })
            .build();
    private final LockTemplate other = LockTemplate.builder(store.peer()).build();

    @AfterEach
    void close() {
        other.close();
        template.close();
        threads.shutdown();
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "x y"})
    void nothingIsHeldWithoutAnOwner(String names) {
        Random random = new Random(7);
        LockRequest longer = LockRequest.of(names.split(" ")).withLeaseTime(LEASE.multipliedBy(2));
        for (int i = 0; i < 1_000; i++) {
            CompletableFuture<LockLease> entered = new CompletableFuture<>();
            CompletableFuture<Void> end = new CompletableFuture<>();
            CompletableFuture<Void> outer =
                    template.executeAsync(LockRequest.of("x").withLeaseTime(LEASE), lease -> {
                        entered.complete(lease);
                        return end;
                    });
            CompletableFuture<Void> inner =
                    template.executeUntil(longer, List.of(entered.join()), lease -> end, stage -> stage);
            boolean outerFirst = random.nextBoolean();
            int spins = random.nextInt(20_000);
            CompletableFuture<?> cancelled = CompletableFuture.runAsync(
                    () -> {
                        spin(spins);
                        inner.cancel(true);
                    },
                    threads);
            if (outerFirst) {
                spin(random.nextInt(20_000));
                end.complete(null);
            }
            cancelled.join();
            end.complete(null);
            outer.join();
            inner.handle((done, failure) -> failure == null || failure instanceof CompletionException)
                    .join();
        }
        Awaitility.await()
                .atMost(Duration.ofSeconds(10))
                .untilAsserted(() -> assertThat(template).asString().contains("held=0, names=0"));
        assertThat(other.tryAcquire(longer)).isPresent();
    }

    private static void spin(int times) {
        for (int i = 0; i < times; i++) {
            Thread.onSpinWait();
        }
    }
}
