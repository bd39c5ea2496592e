/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.redis.MasterClocks.Offset;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MasterClocksTest {

    private static final Set<String> MASTERS = Set.of("a", "b", "c");

    private final MasterClocks clocks = new MasterClocks();

    @Test
    void theLargestDifferenceThatIsPossibleCounts() {
        clocks.measured(MASTERS, "a", new Offset(0, 2));
        assertThat(clocks.differenceMillis()).isZero();
        clocks.measured(MASTERS, "b", new Offset(40, 49));
        assertThat(clocks.differenceMillis()).isZero();
        clocks.measured(MASTERS, "c", new Offset(-700, -698));
        assertThat(clocks.differenceMillis()).isEqualTo(749);
        // A clock that was measured worse than before.
        clocks.measured(MASTERS, "b", new Offset(40, 300));
        assertThat(clocks.differenceMillis()).isEqualTo(1_000);
    }

    @Test
    void aMasterThatLeftTheClusterIsForgotten() {
        clocks.measured(MASTERS, "a", new Offset(0, 1));
        clocks.measured(MASTERS, "b", new Offset(800, 801));
        assertThat(clocks.differenceMillis()).isEqualTo(801);
        clocks.measured(Set.of("a", "c"), "c", new Offset(0, 1));
        assertThat(clocks.differenceMillis()).isZero();
    }

    @Test
    void theTrueOffsetIsBetweenTheBoundsHoweverLongAnAnswerTakes() {
        long before = TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        Iterator<Long> times =
                List.of(before + 5_000, before + 5_000, before + 5_000).iterator();
        Offset offset = Offset.measure(times::next);
        assertThat(offset.least()).isLessThanOrEqualTo(5_000);
        assertThat(offset.most()).isBetween(offset.least(), 5_001L);
    }
}
