/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.LockRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Fencing tokens that rise although no two grants come from the same masters, and their clocks disagree. */
class QuorumTokenTest {

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final String NAME = "stock";

    @Test
    void tokensRiseWhicheverMajorityGrants() {
        try (Masters masters = Masters.start(3)) {
            QuorumLockStore store = masters.store(Connections.JEDIS);
            LockTemplate template = masters.template(store, LEASE);
            masters.warm(template);
            template.acquire(NAME).close();
            masters.awaitNoOwner(NAME);
            // As if the clock of the first master were hours ahead: only what is written back tells the others.
            long ahead = Masters.micros(Duration.ofHours(5));
            LockRecord.setToken(masters.get(0), "lockkeeper:lock:" + NAME, ahead);

            List<Long> tokens = new ArrayList<>();
            for (int asleep : List.of(2, 0, 1, 2, 1, 0)) {
                masters.without(asleep, () -> {
                    try (LockLease lease = template.acquire(NAME)) {
                        tokens.add(lease.fencingToken());
                        assertThat(IntStream.range(0, 3)
                                        .filter(i -> i != asleep)
                                        .allMatch(i -> masters.token(i, NAME) >= lease.fencingToken()))
                                .isTrue();
                    }
                });
                Awaitility.await().until(() -> store.quorum().attempts.size() == 0);
            }
            assertThat(tokens).isSorted().doesNotHaveDuplicates();
            assertThat(tokens.get(0)).isGreaterThan(ahead);
        }
    }
}
