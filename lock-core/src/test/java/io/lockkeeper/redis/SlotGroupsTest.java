/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.RenewCommand;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SlotGroupsTest {

    @Test
    void whatHasOneSlotGoesTogetherInItsOrder() {
        assertThat(SlotGroups.of(List.of("c1", "b1", "c2", "a1", "b2"), key -> (int) key.charAt(0)))
                .containsExactly(List.of("a1"), List.of("b1", "b2"), List.of("c1", "c2"));
    }

    @Test
    void noBatchIsLargerThanOneScriptShouldBe() {
        List<Integer> many = IntStream.range(0, 501).boxed().toList();
        assertThat(SlotGroups.of(many, number -> 0)).extracting(List::size).containsExactly(250, 250, 1);
        assertThat(SlotGroups.of(many, number -> number % 2 * 16_383))
                .extracting(List::size)
                .containsExactly(250, 1, 250);
    }

    @Test
    void readersOfOneLockAreNotAllRenewedByOneScript() {
        List<RenewCommand> readers = IntStream.range(0, 150)
                .mapToObj(i -> renewal(i % 15 == 0 ? "other" + i : "read", i))
                .toList();

        List<List<RenewCommand>> groups = SlotGroups.renewals(readers, command -> 0);

        assertThat(groups).extracting(List::size).containsExactly(32 + 10, 32, 32, 32, 12);
        assertThat(groups.stream().flatMap(List::stream)).containsExactlyInAnyOrderElementsOf(readers);
    }

    @Test
    void locksOfOneHolderEachAreRenewedByAsManyAsOneScriptTakes() {
        List<RenewCommand> holders =
                IntStream.range(0, 251).mapToObj(i -> renewal("lock" + i, i)).toList();
        assertThat(SlotGroups.renewals(holders, command -> 0))
                .extracting(List::size)
                .containsExactly(250, 1);
    }

    private static RenewCommand renewal(String name, int number) {
        return new RenewCommand(name, "attempt" + number, 1_000, false, 0);
    }

    @Test
    void noKeysMakeNoBatch() {
        assertThat(SlotGroups.of(List.of(), key -> 0)).isEmpty();
    }
}
