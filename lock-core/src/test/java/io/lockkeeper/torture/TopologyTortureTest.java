/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.torture.TortureSettings.Promise;
import java.time.Duration;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Locks in a Sentinel and in a cluster, whose servers die, hang, lose data and take each other's place. Without a
 * promise two may hold a lock after lost writes, until the first of them renews it; tokens rise all the same. With acks
 * of all replicas and a guard against restarted servers only FLUSHALL excuses that. Minutes for each, by a command of
 * its own:
 *
 * <pre>
 * ./mvnw -Ptopologies -pl lock-core -am test -Dtest=TopologyTortureTest -Dsurefire.failIfNoSpecifiedTests=false \
 *     -Dlockkeeper.torture.seconds=600 -Dlockkeeper.torture.seed=7
 * </pre>
 */
@Tag("topology")
class TopologyTortureTest {

    private static final long SEED = Long.getLong("lockkeeper.torture.seed", 1);
    private static final Duration TOTAL = Duration.ofSeconds(Long.getLong("lockkeeper.torture.seconds", 60));

    private static final Duration LONG_ENOUGH = Duration.ofMinutes(4);

    @ParameterizedTest
    @EnumSource(names = {"NONE", "ACKNOWLEDGED"})
    void nothingButLostDataIsLostWithSentinel(Promise promise) throws Exception {
        torture(SentinelTopology::new, promise);
    }

    @ParameterizedTest
    @EnumSource(names = {"NONE", "ACKNOWLEDGED"})
    void nothingButLostDataIsLostInACluster(Promise promise) throws Exception {
        int names = TortureSettings.of(SEED, TOTAL, promise).names();
        torture(() -> new ClusterTopology(names), promise);
    }

    private static void torture(Supplier<Topology> servers, Promise promise) throws Exception {
        try (TopologyTorture torture = new TopologyTorture(servers.get(), TortureSettings.of(SEED, TOTAL, promise))) {
            TopologyTorture.Outcome outcome = torture.run();
            System.out.println(outcome.text());

            assertThat(outcome.violations()).as(outcome.text()).isEmpty();
            if (TOTAL.compareTo(LONG_ENOUGH) >= 0) {
                assertThat(outcome.excused()).as("lost data that was seen").isPositive();
            }
        }
    }
}
