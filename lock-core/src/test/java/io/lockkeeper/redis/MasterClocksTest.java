/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.redis.MasterClocks.Offset;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MasterClocksTest {

    private final MasterClocks clocks = new MasterClocks();

    @Test
    void theLargestDifferenceThatIsPossibleCounts() {
        clocks.measured(List.of(new Offset(0, 2)), true);
        assertThat(clocks.differenceMillis()).isZero();
        clocks.measured(List.of(new Offset(0, 2), new Offset(40, 49)), true);
        assertThat(clocks.differenceMillis()).isZero();
        clocks.measured(List.of(new Offset(0, 2), new Offset(40, 300), new Offset(-700, -698)), true);
        assertThat(clocks.differenceMillis()).isEqualTo(1_000);
        clocks.measured(List.of(new Offset(0, 200), new Offset(0, 200)), true);
        assertThat(clocks.differenceMillis()).isEqualTo(200);
    }

    @Test
    void aMasterThatDoesNotAnswerMakesTheDifferenceNoSmaller() {
        clocks.measured(List.of(new Offset(0, 1), new Offset(800, 801)), true);
        clocks.measured(List.of(new Offset(0, 1)), false);
        assertThat(clocks.differenceMillis()).isEqualTo(801);
        clocks.measured(List.of(new Offset(900_000, 900_001), new Offset(900_900, 900_901)), false);
        assertThat(clocks.differenceMillis()).as("all were stepped together").isEqualTo(901);
        clocks.measured(List.of(new Offset(0, 1), new Offset(0, 1)), true);
        assertThat(clocks.differenceMillis()).isZero();
    }

    @Test
    void aClockThatIsFarOffKeepsLocksForSecondsAndNotForDays() {
        clocks.measured(List.of(new Offset(0, 1), new Offset(86_400_000, 86_400_001)), true);
        assertThat(clocks.differenceMillis()).isEqualTo(5_000);
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
