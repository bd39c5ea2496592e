/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What docs/model/README.md says of the protocol. */
class ProtocolModelTest {

    private static final String NO_ERROR = "No error has been found";
    private static final Duration AT_MOST = Duration.ofMinutes(10);

    private static ModelCheck check(ModelCheck.Run run) {
        return run.run(1, List.of("-Xmx512m"), AT_MOST);
    }

    private static String violation(String invariant) {
        return "Invariant " + invariant + " is violated";
    }

    @Test
    void noTwoClientsBelieveAndNoGhostStays() {
        ModelCheck protocol = check(ModelCheck.of("ExclusiveLock"));
        assertThat(protocol.output()).contains(NO_ERROR);
        assertThat(protocol.distinctStates()).isGreaterThan(40_000);
    }

    @ParameterizedTest
    @CsvSource({
        "ExclusiveLockContended, DeadlineFromArrival, Mutex",
        "ExclusiveLockContended, GrantWithoutSample, Mutex",
        "ExclusiveLock, NoNotAfter, NoGhost",
        "ExclusiveLock, AbandonedOnce, NoGhost",
        "ExclusiveLockInFlight, NoDoubt, NoGhost"
    })
    void aFaultIsFound(String configuration, String mutant, String invariant) {
        ModelCheck faulty = check(
                ModelCheck.of("ExclusiveLock", configuration).withMutant(mutant).checking(invariant));
        assertThat(faulty.output()).contains(violation(invariant));
    }

    @Test
    void replicaAcksOfAcquiresAndRenewalsSurviveAFailover() {
        ModelCheck acknowledged = check(ModelCheck.of("Failover"));
        assertThat(acknowledged.output()).contains(NO_ERROR);
        assertThat(acknowledged.distinctStates()).isGreaterThan(5_000);
    }

    @ParameterizedTest
    @CsvSource({"0, 0, TRUE", "2, 0, TRUE", "1, 1, TRUE", "2, 2, FALSE"})
    void fewerAcksLoseALock(String acquireAcks, String renewAcks, String claimFirst) {
        ModelCheck lossy = check(ModelCheck.of("Failover")
                .with("AcquireAcks", acquireAcks)
                .with("RenewAcks", renewAcks)
                .with("ClaimFirst", claimFirst));
        assertThat(lossy.output()).contains(violation("Mutex"));
    }

    /** Larger configurations, on request: see docs/model/README.md. */
    @Test
    @EnabledIfSystemProperty(named = "model.configuration", matches = ".+")
    void aNamedConfigurationHolds() {
        String configuration = System.getProperty("model.configuration");
        String module = configuration.startsWith("Failover") ? "Failover" : "ExclusiveLock";
        ModelCheck named = ModelCheck.of(module, configuration)
                .run(
                        Integer.getInteger("model.workers", 2),
                        List.of(
                                "-Xmx" + System.getProperty("model.heap", "4g"),
                                "-XX:TieredStopAtLevel=4",
                                "-XX:-UseSerialGC",
                                "-XX:+UseParallelGC"),
                        Duration.ofDays(1));
        assertThat(named.output()).contains(NO_ERROR);
        System.out.println(named.output());
    }
}
