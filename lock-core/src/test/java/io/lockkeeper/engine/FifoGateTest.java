/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Local locks of one name go through one at a time, in the order in which they came. */
class FifoGateTest {

    private final FifoGate gate = new FifoGate();
    private final LocalLock first = lock("stock");
    private final LocalLock second = lock("stock");
    private final LocalLock third = lock("stock");

    @Test
    void theFirstPassesAtOnceAndTheOthersInTheirOrder() {
        assertThat(gate.enter(first)).isTrue();
        assertThat(gate.enter(second)).isFalse();
        assertThat(gate.enter(third)).isFalse();

        assertThat(gate.leave(first)).isSameAs(second);
        assertThat(gate.leave(second)).isSameAs(third);
        assertThat(gate.leave(third)).isNull();
    }

    @Test
    void onlyTheFirstLeaveCounts() {
        gate.enter(first);
        gate.enter(second);
        gate.enter(third);

        assertThat(gate.leave(first)).isSameAs(second);
        assertThat(gate.leave(first)).isNull();
        assertThat(gate.leave(second)).isSameAs(third);
    }

    @Test
    void whoLeavesBeforeItsTurnIsPassedOver() {
        gate.enter(first);
        gate.enter(second);
        gate.enter(third);

        assertThat(gate.leave(second)).isNull();
        assertThat(gate.leave(first)).isSameAs(third);
    }

    @Test
    void locksOfDifferentNamesDoNotWaitForEachOther() {
        gate.enter(first);

        assertThat(gate.enter(lock("orders"))).isTrue();
    }

    @Test
    void nothingIsKeptOfANameThroughWhichNoOneGoes() {
        gate.enter(first);
        gate.enter(second);
        assertThat(gate.size()).isEqualTo(1);

        gate.leave(first);
        gate.leave(second);
        assertThat(gate.leave(third)).isNull();

        assertThat(gate.size()).isZero();
    }

    private static LocalLock lock(String name) {
        AcquireSpec spec = AcquireSpec.single(LockRequest.of(name).withMode(LockMode.FAIR), 30_000);
        AcquireSpec.AttemptId attempt = new AcquireSpec.AttemptId("attempt", 1);
        LeasePolicy policy = new LeasePolicy(5_000, 0, false, (origin, bound) -> origin, () -> attempt, null);
        return new LocalLock(List.of(name), spec, policy);
    }
}
