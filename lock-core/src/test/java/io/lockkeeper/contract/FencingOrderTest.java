/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ReleaseCommand;
import java.util.List;
import org.junit.jupiter.api.Test;

class FencingOrderTest {

    private final FencingOrder order = new FencingOrder();

    private void holds(String attempt, ClaimMode mode, long first, int tokens) {
        order.asked(new AcquireCommand(List.of("stock"), attempt, mode, 1_000, true, tokens));
        order.acquired(attempt, List.of(first));
    }

    private void releases(String attempt, long lastToken) {
        order.ended(new ReleaseCommand(List.of("stock"), attempt, lastToken, 0));
    }

    @Test
    void tokensThatRiseAreRight() {
        holds("a", ClaimMode.EXCLUSIVE, 10, 5);
        releases("a", 12);
        holds("b", ClaimMode.WRITE, 13, 5);
        order.granted("b", "stock", 13);
        holds("c", ClaimMode.FAIR, 18, 1);
        releases("c", 0);
        holds("reader", ClaimMode.READ, 18, 1);
        assertThat(order.faults()).isEmpty();
    }

    @Test
    void aTokenThatWasUsedByALocalPassIsAFault() {
        holds("a", ClaimMode.EXCLUSIVE, 10, 5);
        releases("a", 12);
        holds("b", ClaimMode.EXCLUSIVE, 12, 5);
        assertThat(order.faults()).hasSize(1);
    }

    @Test
    void aTokenThatALostHoldMayHaveUsedIsAFault() {
        holds("a", ClaimMode.EXCLUSIVE, 10, 5);
        holds("b", ClaimMode.EXCLUSIVE, 13, 5);
        assertThat(order.faults()).hasSize(1);
    }

    @Test
    void aReaderWithATokenBelowThatOfTheLastWriterIsAFault() {
        holds("a", ClaimMode.WRITE, 10, 1);
        releases("a", 10);
        holds("reader", ClaimMode.READ, 9, 1);
        assertThat(order.faults()).hasSize(1);
    }

    @Test
    void anAnswerToAnAttemptThatWasGivenUpIsNone() {
        holds("a", ClaimMode.EXCLUSIVE, 10, 1);
        order.asked(new AcquireCommand(List.of("stock"), "late", ClaimMode.EXCLUSIVE, 1_000, true, 1));
        releases("late", 0);
        order.acquired("late", List.of(9L));
        assertThat(order.faults()).isEmpty();
    }
}
