/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class LockInspectionTest {

    @Test
    void aSearchThatTheStoreNeverAnswersFails() {
        DelegatingStore silent = new DelegatingStore(new MemoryLockStore()) {
            @Override
            public CompletableFuture<List<String>> find(String pattern, int limit) {
                return new CompletableFuture<>();
            }
        };
        EngineContext context = new EngineContext(
                new ManualTime(),
                Runnable::run,
                Runnable::run,
                Runnable::run,
                new Events(),
                EngineContext::random,
                () -> {});
        LockInspection inspection = new LockInspection(
                silent,
                new LeaseRegistry(),
                context,
                StoredInstance.ofThisProcess("client", "", ""),
                lost -> {},
                Duration.ofMillis(1));

        assertThat(CompletableFuture.supplyAsync(() -> inspection.find("*", 10)))
                .failsWithin(Duration.ofSeconds(20))
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class);
    }
}
