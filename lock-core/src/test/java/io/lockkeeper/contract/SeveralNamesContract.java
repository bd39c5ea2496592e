/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Several names in one request: all or nothing, in one order, until one deadline. */
public abstract class SeveralNamesContract extends StoreContract {

    private LockRequest both() {
        return LockRequest.of(b(), a());
    }

    private String a() {
        return name + " a";
    }

    private String b() {
        return name + " b";
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR", "WRITE"})
    void allAreHeldOrNone(LockMode mode) {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockRequest request = both().withMode(mode);
        try (LockLease lease = one.acquire(request)) {
            assertThat(lease.names()).containsExactly(b(), a());
            assertThat(lease.name()).isEqualTo(b());
            assertThat(lease.fencingToken(a())).isPositive();
            assertThat(lease.fencingToken(b())).isEqualTo(lease.fencingToken());
            assertThatThrownBy(() -> lease.fencingToken("c")).isInstanceOf(IllegalArgumentException.class);
            assertThat(lease.verify()).isTrue();
            assertThat(two.tryAcquire(a())).isEmpty();
            assertThat(two.tryAcquire(b())).isEmpty();
            assertThat(two.tryAcquire(request)).isEmpty();
        }
        try (LockLease blocker = two.acquire(b())) {
            assertThat(one.tryAcquire(request)).isEmpty();
            assertThat(two.tryAcquire(a())).hasValueSatisfying(LockLease::close);
            assertThat(blocker.isHeld()).isTrue();
        }
        assertThat(one.tryAcquire(request)).hasValueSatisfying(LockLease::close);
    }

    @Test
    void tokensOfEachNameRise() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        long last = 0;
        for (int i = 0; i < 10; i++) {
            LockLease single = two.acquire(a());
            assertThat(single.fencingToken()).isGreaterThan(last);
            single.close();
            LockLease set = one.acquire(both());
            assertThat(set.fencingToken(a())).isGreaterThan(single.fencingToken());
            last = set.fencingToken(a());
            set.close();
        }
    }

    @Test
    void theTokenOfOneNameIsNoneOfAnother() {
        LockTemplate one = instance();
        LockLease set = one.acquire(both());
        long ofA = set.fencingToken(a());
        long ofB = set.fencingToken(b());
        set.close();
        LockLease laterA = one.acquire(a());
        LockLease laterB = one.acquire(b());
        assertThat(laterA.fencingToken()).isGreaterThan(ofA);
        assertThat(laterB.fencingToken()).isGreaterThan(ofB);
        laterA.close();
        laterB.close();
    }

    @Test
    void aWaitForSeveralEndsInTimeAndLeavesNothing() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        try (LockLease blocker = one.acquire(b())) {
            LockRequest request = both().withWaitTime(BRIEFLY);
            assertThatThrownBy(() -> two.acquire(request))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class, late -> {
                        assertThat(late.names()).containsExactly(b(), a());
                        assertThat(late.waited()).isBetween(BRIEFLY.minusMillis(10), SOON);
                    });
            Awaitility.await()
                    .atMost(SOON)
                    .until(() -> one.inspector().status(a()).isEmpty());
            assertThat(blocker.verify()).isTrue();
        }
        // The place may leave the queue later than the release comes, and is granted the lock then.
        Awaitility.await().atMost(SOON).until(() -> one.inspector().status(b()).isEmpty());
    }

    @Test
    void aWaitForSeveralGoesOnFromOneNameToTheNext() throws Exception {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockLease first = one.acquire(a());
        LockLease second = one.acquire(b());
        CompletableFuture<LockLease> set = two.acquireAsync(both().withWaitTime(Duration.ofSeconds(20)));
        Awaitility.await()
                .atMost(SOON)
                .until(() -> one.inspector().status(a()).orElseThrow().waiters().size() == 1);
        first.close();
        Awaitility.await()
                .atMost(SOON)
                .until(() -> one.inspector().status(b()).orElseThrow().waiters().size() == 1);
        assertThat(set).isNotDone();
        assertThat(one.tryAcquire(a())).isEmpty();
        second.close();
        try (LockLease lease = set.get(SOON.toMillis(), TimeUnit.MILLISECONDS)) {
            assertThat(lease.verify()).isTrue();
        }
    }

    @Test
    void theFirstLossMakesTheLeaseLostAndFreesTheRest() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockLease lease = one.acquire(both());
        List<LockLostException> told = new ArrayList<>();
        lease.onLost(told::add);
        assertThat(two.inspector().forceRelease(a())).isTrue();
        Awaitility.await().atMost(SOON).until(() -> !lease.isHeld());
        Awaitility.await().atMost(SOON).until(() -> two.inspector().status(b()).isEmpty());
        Awaitility.await().atMost(SOON).until(() -> told.size() == 1);
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
    }

    @Test
    void aSetIsRenewed() {
        LockTemplate one = renewing();
        LockTemplate two = instance();
        try (LockLease lease = one.acquire(both())) {
            assertRenewed(lease, two);
            assertThat(two.tryAcquire(both())).isEmpty();
            assertThat(two.tryAcquire(a())).isEmpty();
            assertThat(lease.verify()).isTrue();
        }
    }

    @Test
    void aThreadEntersAgainWhatItHoldsAndTakesTheRest() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        String c = name + " c";
        one.run(both(), outer -> {
            one.run(a(), inner -> assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken(a())));
            one.run(LockRequest.of(c, a()), inner -> {
                assertThat(inner.names()).containsExactly(c, a());
                assertThat(inner.fencingToken(a())).isEqualTo(outer.fencingToken(a()));
                assertThat(inner.fencingToken()).isEqualTo(inner.fencingToken(c));
                assertThat(inner.isHeld() && inner.verify()).isTrue();
                assertThat(two.tryAcquire(c)).isEmpty();
            });
            assertThat(two.tryAcquire(c)).hasValueSatisfying(LockLease::close);
            assertThat(outer.isHeld()).isTrue();
            assertThat(two.tryAcquire(a())).isEmpty();
            assertThatThrownBy(() -> one.acquire(LockRequest.of(c, a()))).isInstanceOf(IllegalStateException.class);
        });
        assertThat(two.tryAcquire(both())).hasValueSatisfying(LockLease::close);
    }

    @Test
    void aFixedLeaseOfSeveralEndsByItselfAtTheSameTime() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockLease lease = one.acquire(both().withLeaseTime(Duration.ofMillis(400)));
        try (LockLease next = two.acquire(both().withWaitTime(SOON))) {
            assertThat(lease.isHeld()).isFalse();
            assertThat(next.isHeld()).isTrue();
        }
    }

    @Test
    void severalReadersShareSeveralNames() {
        LockTemplate one = instance();
        LockTemplate two = instance();
        LockRequest reading = both().withMode(LockMode.READ);
        try (LockLease first = one.acquire(reading);
                LockLease second = two.acquire(reading)) {
            assertThat(first.verify() && second.verify()).isTrue();
            assertThat(one.tryAcquire(LockRequest.of(a()).withMode(LockMode.WRITE)))
                    .isEmpty();
        }
        assertThat(one.tryAcquire(both().withMode(LockMode.WRITE))).hasValueSatisfying(LockLease::close);
    }
}
