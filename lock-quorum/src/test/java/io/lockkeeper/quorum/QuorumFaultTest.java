/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Masters that are paused, killed and restarted. */
class QuorumFaultTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration COMMAND_TIMEOUT = LEASE.dividedBy(3);
    private static final String NAME = "stock {1}";

    private static Duration timeOf(Runnable action) {
        long begin = System.nanoTime();
        action.run();
        return Duration.ofNanos(System.nanoTime() - begin);
    }

    @ParameterizedTest
    @EnumSource
    void aPausedMinorityIsNotWaitedFor(Connections driver) {
        try (Masters masters = Masters.start(3)) {
            QuorumLockStore store = masters.store(driver);
            Duration longer = LEASE.multipliedBy(3);
            LockTemplate template = masters.template(store, longer);
            masters.warm(template);
            LockTemplate other = masters.template(longer);
            masters.warm(other);
            masters.without(2, () -> {
                for (int i = 0; i < 20; i++) {
                    assertThat(timeOf(() -> template.run(NAME, lease -> {}))).isLessThan(longer.dividedBy(3));
                }
                try (LockLease lease = template.acquire(NAME)) {
                    assertThat(lease.verify()).isTrue();
                    assertThat(other.tryAcquire(NAME)).isEmpty();
                    assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
                }
            });
            Awaitility.await().until(() -> store.quorum().attempts.size() == 0);
            masters.awaitNoOwner(NAME);
        }
    }

    @Test
    void twoOfFiveMastersMayBeGone() throws Exception {
        try (Masters masters = Masters.start(5)) {
            masters.get(0).kill();
            LockTemplate template = masters.template(LEASE);
            LockTemplate other = masters.template(LEASE);
            masters.warm(template);
            masters.warm(other);
            LockLease lease = template.acquire(NAME);
            masters.get(1).kill();
            CompletableFuture<LockLostException> loss = new CompletableFuture<>();
            lease.onLost(loss::complete);
            assertThat(other.tryAcquire(LockRequest.of(NAME).withWaitTime(LEASE.plus(LEASE))))
                    .isEmpty();
            assertThat(loss).isNotDone();
            assertThat(lease.verify()).isTrue();
            CompletableFuture<LockLease> waiting = other.acquireAsync(LockRequest.of(NAME));
            assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
            waiting.get(20, TimeUnit.SECONDS).close();
            masters.get(0).restart();
            Awaitility.await().until(() -> {
                try (LockLease next = template.acquire(NAME)) {
                    return !masters.owner(0, NAME).isEmpty() && next.isHeld();
                }
            });
        }
    }

    @Test
    void withoutAMajorityNobodyIsToldThatSomebodyElseHoldsTheLock() {
        try (Masters masters = Masters.start(3)) {
            QuorumLockStore store = masters.store(Connections.JEDIS);
            LockTemplate template = masters.template(store, LEASE);
            masters.warm(template);
            masters.get(0).kill();
            masters.without(1, () -> {
                Duration refused = timeOf(() -> assertThatThrownBy(() -> template.tryAcquire(NAME))
                        .isInstanceOf(LockStoreException.class)
                        .hasMessageContainingAll("no majority of the 3 masters", "master 1: ", "master 2: "));
                assertThat(refused).isLessThan(COMMAND_TIMEOUT.plusSeconds(5));
                Awaitility.await().until(() -> masters.owner(2, NAME).isEmpty());
            });
            masters.get(0).restart();
            Awaitility.await().until(() -> store.quorum().attempts.size() == 0);
            masters.awaitNoOwner(NAME);
            template.run(NAME, lease -> assertThat(lease.verify()).isTrue());
        }
    }

    @Test
    void aWaiterOutlastsAMajorityThatIsAwayForAWhile() throws Exception {
        try (Masters masters = Masters.start(3)) {
            Duration longer = LEASE.multipliedBy(2);
            LockTemplate template = masters.template(longer);
            LockTemplate other = masters.template(longer);
            masters.warm(template);
            masters.warm(other);
            LockLease held = template.acquire(NAME);
            CompletableFuture<LockLease> waiting =
                    other.acquireAsync(LockRequest.of(NAME).withWaitTime(Duration.ofSeconds(20)));
            masters.get(0).pause();
            masters.without(2, () -> assertThatThrownBy(held::verify).isInstanceOf(LockStoreException.class));
            masters.get(0).resume();
            assertThat(waiting).isNotDone();
            assertThat(held.verify()).isTrue();
            assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
            LockLease next = waiting.get(20, TimeUnit.SECONDS);
            assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
            next.close();
        }
    }

    @Test
    void aLeaseIsLostInTimeWhenTheMajorityIsGone() throws Exception {
        try (Masters masters = Masters.start(3)) {
            LockTemplate template = masters.template(LEASE);
            masters.warm(template);
            LockLease lease = template.acquire(NAME);
            CompletableFuture<Boolean> heldWhenLost = new CompletableFuture<>();
            lease.onLost(loss -> heldWhenLost.complete(lease.isHeld()));
            masters.get(0).kill();
            masters.get(2).kill();
            assertThat(heldWhenLost.get(LEASE.toMillis() + 10_000, TimeUnit.MILLISECONDS))
                    .isFalse();
            assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        }
    }

    @Test
    void aMasterThatForgetsALockDoesNotEndIt() throws Exception {
        try (Masters masters = Masters.start(3)) {
            LockTemplate template = masters.template(LEASE);
            masters.warm(template);
            LockLease lease = template.acquire(NAME);
            CompletableFuture<LockLostException> loss = new CompletableFuture<>();
            lease.onLost(loss::complete);
            masters.get(1).restart();
            assertThat(loss.copy()
                            .completeOnTimeout(null, 2 * LEASE.toMillis(), TimeUnit.MILLISECONDS)
                            .get())
                    .isNull();
            assertThat(lease.verify()).isTrue();
            masters.get(2).command("FLUSHALL");
            assertThat(loss.get(LEASE.toMillis() + 10_000, TimeUnit.MILLISECONDS)
                            .name())
                    .isEqualTo(NAME);
        }
    }

    @Test
    void whatARefusedCallerAskedOfAPausedMasterIsGoneWhenItWakesUp() {
        try (Masters masters = Masters.start(3)) {
            QuorumLockStore refused = masters.store(Connections.JEDIS);
            LockTemplate loser = masters.template(refused, LEASE);
            LockTemplate winner = masters.template(LEASE);
            masters.warm(loser);
            masters.warm(winner);
            for (int i = 0; i < 5; i++) {
                // Each master wakes up soon enough to run what came meanwhile, in any order.
                int asleep = i % 3;
                masters.get(asleep).pause();
                LockLease held = winner.acquire(NAME);
                String owner = masters.owner((asleep + 1) % 3, NAME);
                assertThat(loser.tryAcquire(NAME)).isEmpty();
                assertThat(loser.tryAcquire(LockRequest.of(NAME).withWaitTime(COMMAND_TIMEOUT)))
                        .isEmpty();
                masters.get(asleep).resume();
                Awaitility.await().until(() -> refused.quorum().attempts.size() == 0);
                assertThat(masters.owner(asleep, NAME)).isIn("", owner);
                held.close();
                masters.awaitNoOwner(NAME);
            }
        }
    }

    @Test
    void closingWaitsForNoMasterThatIsAway() {
        try (Masters masters = Masters.start(3)) {
            LockTemplate template = masters.template(LEASE);
            masters.warm(template);
            LockLease lease = template.acquire(NAME);
            template.acquire("other");
            masters.get(0).kill();
            assertThat(lease.isHeld()).isTrue();
            template.close();
            assertThat(masters.owner(1, NAME)).isEmpty();
            assertThat(masters.owner(2, NAME)).isEmpty();
            assertThat(masters.owner(1, "other")).isEmpty();
            assertThat(masters.owner(2, "other")).isEmpty();
        }
    }
}
