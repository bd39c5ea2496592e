/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.torture.TortureSettings.Promise;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Locks on a majority of three masters, each of which dies, hangs and restarts empty in its turn: no two hold a lock. A
 * hold may be lost early: a master that came back does not have it, and then the next one dies. By a command of its
 * own:
 *
 * <pre>
 * ./mvnw -Ptopologies -pl lock-quorum -am test -Dtest=QuorumTortureTest -Dsurefire.failIfNoSpecifiedTests=false \
 *     -Dlockkeeper.torture.seconds=600 -Dlockkeeper.torture.seed=7
 * </pre>
 */
@Tag("topology")
class QuorumTortureTest {

    private static final long SEED = Long.getLong("lockkeeper.torture.seed", 1);
    private static final Duration TOTAL = Duration.ofSeconds(Long.getLong("lockkeeper.torture.seconds", 60));

    @Test
    void noTwoHoldALockWhileMinoritiesFailWithTheirData() throws Exception {
        TortureSettings settings = TortureSettings.of(SEED, TOTAL, Promise.QUORUM);
        try (TopologyTorture torture = new TopologyTorture(new QuorumTopology(), settings)) {
            TopologyTorture.Outcome outcome = torture.run();
            System.out.println(outcome.text());

            assertThat(outcome.violations()).as(outcome.text()).isEmpty();
        }
    }
}
