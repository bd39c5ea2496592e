/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;

/** Finds the keys that one command may name together. */
final class SlotBatches {

    /** One call of a script keeps Redis busy for about a millisecond at this size; a larger one saves little. */
    private static final int LARGEST = 250;

    private SlotBatches() {}

    /** Returns the positions of the keys: each batch has keys of one slot, and not too many. */
    static List<int[]> of(List<byte[]> keys, ToIntFunction<byte[]> slots) {
        long[] ordered = IntStream.range(0, keys.size())
                .mapToLong(position -> ((long) slots.applyAsInt(keys.get(position)) << Integer.SIZE) + position)
                .sorted()
                .toArray();
        List<int[]> batches = new ArrayList<>();
        int begin = 0;
        for (int end = 1; end <= ordered.length; end++) {
            if (end == ordered.length || end - begin == LARGEST || slot(ordered[end]) != slot(ordered[begin])) {
                batches.add(
                        IntStream.range(begin, end).map(i -> (int) ordered[i]).toArray());
                begin = end;
            }
        }
        return batches;
    }

    private static long slot(long ordered) {
        return ordered >> Integer.SIZE;
    }
}
