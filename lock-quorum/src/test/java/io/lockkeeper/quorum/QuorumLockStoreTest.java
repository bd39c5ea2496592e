/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.LockRecord;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a quorum can do, and what it refuses, over masters that are all there. */
class QuorumLockStoreTest {

    private static final Duration LEASE = Duration.ofSeconds(3);

    private static Masters masters;
    private static QuorumLockStore store;
    private static LockTemplate template;
    private static LockTemplate other;

    @BeforeAll
    static void start() {
        masters = Masters.start(3);
        store = masters.store(Connections.JEDIS);
        template = masters.template(store, LEASE);
        other = masters.template(LEASE);
        masters.warm(template);
        masters.warm(other);
    }

    @AfterAll
    static void stop() {
        masters.close();
    }

    @ParameterizedTest
    @EnumSource(names = "EXCLUSIVE", mode = EnumSource.Mode.EXCLUDE)
    void modesThatNeedAQueueAreRefused(LockMode mode) {
        assertThatThrownBy(() -> template.acquire(LockRequest.of("mode").withMode(mode)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContainingAll(mode.name(), "queue", "independent masters", "EXCLUSIVE");
    }

    @Test
    void itTellsWhereItsMastersAre() {
        assertThat(store).asString().startsWith("a majority of Redis at ").contains("; Redis at ");
    }

    @Test
    void aWorkerOpensAndClosesItAlsoWhereItsPoolHasNoThreadLeft() {
        ForkJoinPool full = new ForkJoinPool(
                1, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, false, 1, 1, 1, null, 1, TimeUnit.SECONDS);
        QuorumLockStore own = masters.store(Connections.JEDIS);
        try {
            CompletableFuture<Boolean> locked = CompletableFuture.supplyAsync(
                    () -> {
                        try (LockTemplate opened =
                                LockTemplate.builder(own).leaseTime(LEASE).build()) {
                            LockRequest request = LockRequest.of("stock").withWaitTime(Duration.ofSeconds(10));
                            return opened.tryRun(request, lease -> {});
                        }
                    },
                    full);
            assertThat(locked).succeedsWithin(Duration.ofSeconds(40)).isEqualTo(true);
        } finally {
            full.shutdownNow();
        }
    }

    @Test
    void severalNamesAreTakenTogetherOrNotAtAll() {
        LockRequest both = LockRequest.of("b", "a", "c");
        try (LockLease held = other.acquire("b")) {
            assertThat(template.tryAcquire(both)).isEmpty();
            for (String name : List.of("a", "c")) {
                masters.awaitNoOwner(name);
                other.tryAcquire(name).orElseThrow().close();
            }
            assertThat(held.isHeld()).isTrue();
        }
        try (LockLease lease = template.acquire(both)) {
            assertThat(lease.names()).containsExactly("b", "a", "c");
            for (String name : lease.names()) {
                assertThat(lease.fencingToken(name)).isPositive();
                assertThat(other.tryAcquire(name)).isEmpty();
            }
        }
        try (LockLease next = other.acquire(both)) {
            assertThat(next.isHeld()).isTrue();
        }
    }

    @Test
    void theTokensOfSeveralNamesRiseEachOnItsOwn() {
        // The second name is far ahead of the first, at one master that some majority may not ask.
        template.acquire(LockRequest.of("p", "q")).close();
        masters.awaitNoOwner("q");
        long ahead = Masters.micros(Duration.ofHours(5));
        LockRecord.setToken(masters.get(1), "lockkeeper:lock:q", ahead);
        long last = 0;
        for (int asleep : List.of(0, 1, 2)) {
            long before = last;
            long[] now = new long[1];
            masters.without(asleep, () -> {
                try (LockLease lease = template.acquire(LockRequest.of("p", "q"))) {
                    now[0] = lease.fencingToken("q");
                }
            });
            last = now[0];
            assertThat(last).isGreaterThan(Math.max(before, ahead));
            Awaitility.await().until(() -> store.quorum().attempts.size() == 0);
        }
    }

    @Test
    void noTimeIsLongerThanTheLease() {
        Duration longer = LEASE.plusMillis(1);
        assertThatThrownBy(() -> template.acquire(LockRequest.of("long").withLeaseTime(longer)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at most the lease time");
        assertThatThrownBy(() -> template.acquire(LockRequest.of("long").withMinHoldTime(longer)))
                .isInstanceOf(IllegalArgumentException.class);
        try (LockLease lease = template.acquire(LockRequest.of("long").withLeaseTime(LEASE))) {
            assertThat(lease.extend(LEASE)).isTrue();
            assertThatThrownBy(() -> lease.extend(longer))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("at most the lease time of the template, which is PT3S");
            assertThatThrownBy(() -> lease.extend(LEASE, longer))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("minimum hold time");
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @Test
    void aMinimumHoldIsKeptByAMajority() {
        LockRequest kept = LockRequest.of("kept").withMinHoldTime(Duration.ofMillis(1_200));
        long begin = System.nanoTime();
        template.acquire(kept).close();
        assertThat(other.tryAcquire("kept")).isEmpty();
        other.acquire(LockRequest.of("kept").withWaitTime(Duration.ofSeconds(20)))
                .close();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThanOrEqualTo(Duration.ofMillis(1_180));
    }

    @Test
    void aRefusalNamesTheHolder() {
        try (LockLease held = other.acquire("named")) {
            assertThatThrownBy(() -> template.acquire(LockRequest.of("named").withWaitTime(Duration.ZERO)))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class, refused -> assertThat(refused.holder())
                            .map(LockInstance::pid)
                            .hasValue(ProcessHandle.current().pid()));
            assertThat(held.isHeld()).isTrue();
        }
    }

    @Test
    void operatorsSeeWhatAMajorityKnowsAndCanTakeItAway() throws Exception {
        LockLease lease = template.acquire("seen");
        // A majority is enough for the holder; the third master may not have answered yet.
        Awaitility.await().until(() -> masters.all().stream()
                .allMatch(master -> Long.valueOf(1).equals(master.command("EXISTS", "lockkeeper:lock:seen"))));
        masters.get(2).command("DEL", "lockkeeper:lock:seen");
        LockStatus status = other.inspector().status("seen").orElseThrow();
        assertThat(status.fencingToken()).isGreaterThanOrEqualTo(lease.fencingToken());
        assertThat(status.holders()).singleElement().satisfies(holder -> assertThat(holder.pid())
                .isEqualTo(ProcessHandle.current().pid()));
        assertThat(status.remaining()).isBetween(Duration.ofSeconds(1), LEASE);
        assertThat(other.inspector().find("see*", 10))
                .extracting(LockStatus::name)
                .containsExactly("seen");
        CompletableFuture<LockLostException> loss = new CompletableFuture<>();
        lease.onLost(loss::complete);
        assertThat(other.inspector().forceRelease("seen")).isTrue();
        assertThat(loss.get(20, TimeUnit.SECONDS).name()).isEqualTo("seen");
        assertThat(other.inspector().forceRelease("seen")).isFalse();
        assertThat(other.inspector().status("seen")).isEmpty();
    }
}
