/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlannedFaultTest {

    private static List<PlannedFault> plan(long seed) {
        return TortureRun.plan(TortureSettings.of(seed, Duration.ofSeconds(50)));
    }

    @Test
    void theSameSeedDrawsTheSameFaultsAndAnotherOneOthers() {
        assertThat(plan(7)).isEqualTo(plan(7)).isNotEqualTo(plan(8));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void aRunOfTheBuildHasAllFaultsAndTimeBetweenThem(long seed) {
        List<PlannedFault> plan = plan(seed);
        assertThat(plan).extracting(PlannedFault::kind).contains(FaultKind.values());
        assertThat(plan).extracting(PlannedFault::worker).contains(0, 1, 2, 3);
        assertThat(plan).extracting(PlannedFault::at).isSorted().allMatch(at -> at.toSeconds() < 50);
        long faulty = plan.stream().mapToLong(fault -> fault.lasts().toMillis()).sum();
        assertThat(faulty).isBetween(10_000L, 40_000L);
    }
}
