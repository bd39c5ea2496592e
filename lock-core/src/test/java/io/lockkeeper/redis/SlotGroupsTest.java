/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SlotGroupsTest {

    private static List<byte[]> keys(int... first) {
        return IntStream.of(first).mapToObj(b -> new byte[] {(byte) b}).toList();
    }

    @Test
    void keysOfOneSlotGoTogetherInTheirOrder() {
        assertThat(SlotGroups.of(keys(7, 3, 7, 0, 3), key -> key[0]))
                .containsExactly(new int[] {3}, new int[] {1, 4}, new int[] {0, 2});
    }

    @Test
    void noBatchIsLargerThanOneScriptShouldBe() {
        List<byte[]> many = keys(IntStream.range(0, 501).map(i -> i % 2).toArray());
        assertThat(SlotGroups.of(many, key -> 0))
                .extracting(batch -> batch.length)
                .containsExactly(250, 250, 1);
        assertThat(SlotGroups.of(many, key -> key[0] * 16_383))
                .extracting(batch -> batch.length)
                .containsExactly(250, 1, 250);
    }

    @Test
    void noKeysMakeNoBatch() {
        assertThat(SlotGroups.of(List.of(), key -> 0)).isEmpty();
    }
}
