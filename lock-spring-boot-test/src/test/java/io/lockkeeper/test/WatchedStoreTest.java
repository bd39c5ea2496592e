/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.IgnoredMessages;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class WatchedStoreTest {

    @Test
    void aHolderHearsThatAnotherInstanceWaits() {
        List<String> awaited = new CopyOnWriteArrayList<>();
        String client = ClientIds.next();
        String holder = client + "00000001";
        try (LockStore store = new LockFaults().watch(new MemoryLockStore())) {
            store.open(StoredInstance.ofThisProcess(client, "", ""), Duration.ofSeconds(10), new IgnoredMessages() {
                @Override
                public void awaited(String attempt) {
                    awaited.add(attempt);
                }
            });
            store.acquire(command(holder, AcquireCommand.MOST_TOKENS)).join();
            store.acquire(command(ClientIds.next() + "00000001", 1)).join();
            Awaitility.await().until(() -> awaited.contains(holder));
        }
    }

    private static AcquireCommand command(String attempt, int tokens) {
        return new AcquireCommand(List.of("x"), attempt, ClaimMode.EXCLUSIVE, 10_000, true, tokens);
    }
}
