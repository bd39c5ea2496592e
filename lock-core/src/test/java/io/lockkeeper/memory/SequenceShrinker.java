/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Takes steps out of a sequence that fails, as long as it still fails: large pieces first, then one by one. */
final class SequenceShrinker {

    private SequenceShrinker() {}

    static <T> List<T> shrink(List<T> failing, Predicate<List<T>> fails) {
        List<T> least = failing;
        int piece = Math.max(1, failing.size() / 2);
        while (true) {
            int size = least.size();
            for (int from = least.size() - piece; from > -piece; from -= piece) {
                List<T> shorter = new ArrayList<>(least.subList(0, Math.max(0, from)));
                shorter.addAll(least.subList(Math.min(least.size(), from + piece), least.size()));
                if (shorter.size() < least.size() && fails.test(shorter)) {
                    least = shorter;
                }
            }
            if (piece == 1 && least.size() == size) {
                return least;
            }
            piece = Math.max(1, piece / 2);
        }
    }
}
