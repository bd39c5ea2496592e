/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the store answers, without an engine. */
class MemoryLockStoreTest {

    private static final List<String> NAMES = List.of("stock");
    private static final String A1 = "clientAAAAAA00000001";
    private static final String A2 = "clientAAAAAA00000002";
    private static final String B1 = "clientBBBBBB00000001";

    private final MemoryLockStore store = new MemoryLockStore();
    private final List<String> told = new ArrayList<>();

    private void open(MemoryLockStore store, String clientId, boolean fails) {
        store.open(StoredInstance.ofThisProcess(clientId, "test", ""), Duration.ofSeconds(30), new StoreListener() {
            @Override
            public void granted(Grant grant) {
                told.add("grant " + grant.attempt());
                fail();
            }

            @Override
            public void revoked(String attempt) {
                told.add("revoke " + attempt);
                fail();
            }

            @Override
            public void freeIn(String attempt, long remainingMillis) {}

            @Override
            public void channelRestored() {}

            private void fail() {
                if (fails) {
                    throw new IllegalStateException("own");
                }
            }
        });
    }

    private AcquireReply acquire(String attempt, ClaimMode mode) {
        return store.acquire(new AcquireCommand(NAMES, attempt, mode, 30_000, true, 1))
                .join();
    }

    private ReleaseReply release(String attempt) {
        return store.release(new ReleaseCommand(NAMES, attempt, 0, 0)).join();
    }

    @Test
    void aListenerThatThrowsCostsNoOtherMessageAndNoReply() {
        open(store, A1.substring(0, 12), true);
        open(store.peer(), B1.substring(0, 12), false);
        acquire(A1, ClaimMode.EXCLUSIVE);
        acquire(A2, ClaimMode.READ);
        acquire(B1, ClaimMode.READ);
        assertThat(store.revoke("stock")).isCompletedWithValue(true);
        assertThat(told).containsExactly("revoke " + A1, "grant " + A2, "grant " + B1);
    }

    @Test
    void aRevokedAttemptHasEndedAndHeldNothing() {
        open(store, A1.substring(0, 12), false);
        acquire(A1, ClaimMode.EXCLUSIVE);
        acquire(A2, ClaimMode.EXCLUSIVE);
        store.revoke("stock").join();
        assertThat(acquire(A1, ClaimMode.EXCLUSIVE)).as("a late copy").isInstanceOf(AcquireReply.Ended.class);
        assertThat(release(A1)).isEqualTo(ReleaseReply.NOT_HELD);
        assertThat(release(A2)).isEqualTo(ReleaseReply.RELEASED);
    }

    @Test
    void anAttemptThatReleasedAfterARevocationHasReleased() {
        open(store, A1.substring(0, 12), false);
        acquire(A1, ClaimMode.EXCLUSIVE);
        acquire(A2, ClaimMode.EXCLUSIVE);
        acquire(B1, ClaimMode.EXCLUSIVE);
        store.revoke("stock").join();
        assertThat(release(A2)).isEqualTo(ReleaseReply.RELEASED);
        assertThat(release(A2)).isEqualTo(ReleaseReply.ALREADY_RELEASED);
        assertThat(release(A1)).isEqualTo(ReleaseReply.NOT_HELD);
        assertThat(acquire(A1, ClaimMode.EXCLUSIVE)).as("a late copy").isInstanceOf(AcquireReply.Ended.class);
    }

    /** Nor does a late renewal outlive its release. */
    @Test
    void aReaderThatKeepsTheLockHasReleasedItAlsoWhenAnotherOneHas() {
        open(store, A1.substring(0, 12), false);
        acquire(A1, ClaimMode.READ);
        acquire(B1, ClaimMode.READ);
        store.release(new ReleaseCommand(NAMES, A1, 0, 5_000)).join();
        release(B1);

        assertThat(store.renew(List.of(new RenewCommand("stock", A1, 30_000, false, 0)))
                        .get(0))
                .isCompletedWithValue(false);
        assertThat(release(A1)).isEqualTo(ReleaseReply.ALREADY_RELEASED);
        assertThat(acquire(A1, ClaimMode.READ)).as("a late copy").isInstanceOf(AcquireReply.Ended.class);
        assertThat(store.inspect("stock").join().orElseThrow().remainingMillis())
                .isBetween(1L, 5_000L);
    }

    /** A minimum hold, and the lease of an instance that is gone, end without a command for the name. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void whatEndsByItselfIsForgotten(int names) {
        long[] micros = {1};
        MemoryLockStore.Heap heap = new MemoryLockStore.Heap(() -> micros[0]);
        MemoryLockStore several = new MemoryLockStore(heap);
        open(several, A1.substring(0, 12), false);
        for (int i = 0; i < 10_000; i++) {
            String job = "job:" + i + ":";
            List<String> jobs =
                    IntStream.range(0, names).mapToObj(part -> job + part).toList();
            several.acquire(new AcquireCommand(jobs, A1, ClaimMode.EXCLUSIVE, 30_000, false, 1));
            if (i % 2 == 0) {
                several.release(new ReleaseCommand(jobs, A1, 0, 30_000));
            }
            micros[0] += 1_000_000;
        }

        assertThat(heap.locks).hasSizeLessThan(600 * names);
        micros[0] += 60_000_000;
        assertThat(several.find("job:*", 10).join()).isEmpty();
        assertThat(heap.locks).isEmpty();
    }
}
