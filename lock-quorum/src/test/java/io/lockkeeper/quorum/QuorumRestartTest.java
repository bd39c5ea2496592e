/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.RedisLockStore;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Masters that have forgotten their locks. */
class QuorumRestartTest {

    private static final Duration LEASE = Duration.ofSeconds(1);
    private static final Duration GUARD = LEASE.plusSeconds(2);
    private static final String NAME = "stock";

    @Test
    void aRestartedMasterGivesNoLockForALease() {
        RedisLockStore.Options guarded = RedisLockStore.Options.defaults().withRestartGuard(true);
        try (Masters masters = Masters.start(3, guarded)) {
            LockTemplate template = masters.template(LEASE);
            LockTemplate other = masters.template(LEASE);
            assertThatThrownBy(() -> template.acquire(NAME))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("no majority of the 3 masters")
                    .hasMessageContaining("the server was started less than a lease ago");
            Awaitility.await().atMost(GUARD.plusSeconds(2)).until(() -> isGiven(template));

            try (LockLease lease = template.acquire(NAME)) {
                masters.get(0).restart();
                masters.get(1).restart();
                // Both have forgotten the lock: without the guard they would be a majority for somebody else.
                assertThat(lease.isHeld()).isTrue();
                // The first answers may come from connections that the restart has cut.
                Awaitility.await().untilAsserted(() -> assertThatThrownBy(() -> other.tryAcquire(NAME))
                        .isInstanceOf(LockStoreException.class)
                        .hasMessageContainingAll(
                                "master 1: the server was started", "master 2: the server was started"));
            }
            Awaitility.await().atMost(GUARD.plusSeconds(2)).until(() -> isGiven(other));
        }
    }

    @Test
    void aUserWhoMayNotAskForTheUptimeIsToldSo() {
        RedisLockStore.Options guarded = RedisLockStore.Options.defaults().withRestartGuard(true);
        try (Masters masters = Masters.start(3, guarded)) {
            masters.all().forEach(server -> server.command("ACL", "SETUSER", "default", "-info"));
            LockTemplate template = masters.template(LEASE);
            assertThatThrownBy(() -> template.acquire(NAME))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContainingAll("restart guard", "permit its Redis user to run INFO (ACL +info)");
        }
    }

    private static boolean isGiven(LockTemplate template) {
        try (LockLease lease = template.acquire(NAME)) {
            return lease.isHeld();
        } catch (LockStoreException young) {
            return false;
        }
    }
}
