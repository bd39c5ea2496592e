/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/**
 * All kinds of locks in four JVMs with eight threads each, while everything fails that can fail. A minute in the build,
 * start and end included; an hour, or with another seed:
 *
 * <pre>
 * ./mvnw -pl lock-core -am test -Dtest=TortureTest -Dsurefire.failIfNoSpecifiedTests=false \
 *     -Dlockkeeper.torture.seconds=3600 -Dlockkeeper.torture.seed=7
 * </pre>
 */
class TortureTest {

    @Test
    void nothingIsHeldTwiceOrLostOrLeft() {
        TortureSettings settings = TortureSettings.of(
                Long.getLong("lockkeeper.torture.seed", 1),
                Duration.ofSeconds(Long.getLong("lockkeeper.torture.seconds", 50)));
        try (TortureRun run = new TortureRun(settings)) {
            TortureReport report = run.run();
            System.out.println(report.text());
            assertThat(report.violations()).as(report.text()).isEmpty();
            assertThat(report.unexplainedLosses()).as(report.text()).isEmpty();
            assertThat(report.acquisitions().keySet())
                    .containsAll(Arrays.stream(Form.values())
                            .filter(form -> form != Form.CANCELLED)
                            .map(Form::name)
                            .toList());
            assertThat(report.ways().keySet()).contains("ANSWER", "PASS", "GRANT", "POLL");
            if (settings.total().toSeconds() >= 50) {
                assertThat(report.faults().keySet()).containsExactlyInAnyOrder(FaultKind.values());
            }
        }
    }
}
