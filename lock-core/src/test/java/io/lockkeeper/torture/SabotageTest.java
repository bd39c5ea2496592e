/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.torture.TortureSettings.Sabotage;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** The torture notices what it is there for: small runs in which something is wrong on purpose must fail. */
class SabotageTest {

    private static void assertNoticed(TortureSettings settings, Predicate<String> violation) {
        try (TortureRun run = new TortureRun(settings)) {
            TortureReport report = run.runUntil(violation);
            assertThat(report.violations()).as(report.text()).anyMatch(violation);
        }
    }

    @Test
    void aRegisterWithoutAGuardTakesTheWriteOfAWorkerThatWasStoppedPastItsLease() {
        assertNoticed(
                TortureSettings.of(Sabotage.UNGUARDED_REGISTER, FaultKind.STOP_WORKER),
                violation -> violation.startsWith("A stale write"));
    }

    @Test
    void workersThatTakeALeaseForEndlessHoldTwice() {
        assertNoticed(
                TortureSettings.of(Sabotage.ENDLESS_LEASES, FaultKind.STOP_WORKER),
                violation -> violation.startsWith("Two hold"));
    }

    @Test
    void aStoreThatGivesTheLockToEverybodyLetsTwoHoldIt() {
        assertNoticed(
                TortureSettings.of(Sabotage.GENEROUS_STORE, FaultKind.FLUSH_SCRIPTS),
                violation -> violation.startsWith("Two hold"));
    }
}
