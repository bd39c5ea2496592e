/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.IgnoredMessages;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class UnconfirmedGrantsTest {

    private static final List<String> NAMES = List.of("stock");
    private static final String FIRST = "clientAAAAAA00000001";
    private static final String SECOND = "clientAAAAAA00000002";

    private final UnconfirmedGrants grants = new UnconfirmedGrants();
    private final List<Long> tokens = new ArrayList<>();
    private final LockStore store = grants.watch(new MemoryLockStore());
    private long grantMillis;

    @BeforeEach
    void grantToTheSecondOne() {
        StoredInstance instance = StoredInstance.ofThisProcess(FIRST.substring(0, 12), "test", "");
        grantMillis = store.open(instance, Duration.ofSeconds(4), new IgnoredMessages() {
                    @Override
                    public void granted(Grant grant) {
                        tokens.add(grant.firstToken());
                    }
                })
                .grantTime()
                .toMillis();
        AcquireReply.Acquired first = (AcquireReply.Acquired) acquire(FIRST);
        assertThat(grants.millis("stock", first.firstTokens().get(0))).isZero();
        acquire(SECOND);
        store.release(new ReleaseCommand(NAMES, FIRST, 0, 0)).join();
        assertThat(tokens).hasSize(1);
    }

    private AcquireReply acquire(String attempt) {
        return store.acquire(new AcquireCommand(NAMES, attempt, ClaimMode.EXCLUSIVE, 4_000, true, 3))
                .join();
    }

    private long granted(int passes) {
        return grants.millis("stock", tokens.get(0) + passes);
    }

    @Test
    void aGrantAndWhatIsPassedOnOfItLastForTheGrantTimeUntilARenewal() {
        assertThat(grantMillis).isBetween(1L, 3_999L);
        assertThat(granted(0)).isEqualTo(grantMillis);
        assertThat(granted(2)).isEqualTo(grantMillis);
        assertThat(grants.millis("stock", tokens.get(0) - 1)).isZero();
        store.renew(List.of(new RenewCommand("stock", SECOND, 4_000, false, 0)));
        assertThat(granted(0)).isZero();
        assertThat(granted(2)).isZero();
    }

    @Test
    void aGrantThatIsAnsweredTooLastsForALease() {
        assertThat(acquire(SECOND)).isInstanceOf(AcquireReply.Acquired.class);
        assertThat(granted(0)).isZero();
    }
}
