/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

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
    void noKeysMakeNoBatch() {
        assertThat(SlotGroups.of(List.of(), key -> 0)).isEmpty();
    }
}
