/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jetbrains.lincheck.datastructures.verifier.EpsilonVerifier;
import org.junit.jupiter.api.Test;

/**
 * Explores what several threads do to one local lock: at most one of them holds, whoever waits is woken up, each is
 * granted or refused, those who wait are served in order, and nothing is left behind. The operations have no results
 * that could be put in a line; what must hold is checked while they run and when they have ended.
 */
@Param(name = "caller", gen = IntGen.class, conf = "0:2")
public class LocalLockLincheckTest {

    /**
     * Lincheck's threads spin while they wait for each other, which takes seconds where they have no core of their own:
     * the build does little of it. More by -Dlockkeeper.test.lincheck-invocations=1000
     * -Dlockkeeper.test.lincheck-threads=3.
     */
    private static final int STRESS = Integer.getInteger("lockkeeper.test.lincheck-invocations", 200);

    private static final int STRESS_THREADS = Integer.getInteger("lockkeeper.test.lincheck-threads", 2);

    private final LocalLockScenario scenario = new LocalLockScenario();

    @Operation
    public void enter() {
        scenario.enter(true);
    }

    @Operation
    public void tryEnter() {
        scenario.enter(false);
    }

    @Operation
    public void leave(@Param(name = "caller") int caller) {
        scenario.leave(caller);
    }

    @Operation
    public void expire(@Param(name = "caller") int caller) {
        scenario.expire(caller);
    }

    @Operation
    public void release() {
        scenario.release();
    }

    @Operation
    public void lose() {
        scenario.lose();
    }

    @Operation
    public void deliverGrant() {
        scenario.deliver();
    }

    @Operation
    public void otherComes() {
        scenario.otherComes();
    }

    @Operation
    public void otherGoes() {
        scenario.otherGoes();
    }

    @Validate
    public void checkAtTheEnd() {
        scenario.checkAtTheEnd();
    }

    @Test
    void interleavingsOfSmallScenariosKeepThePromises() {
        new ModelCheckingOptions()
                .iterations(5)
                .invocationsPerIteration(30)
                .threads(2)
                .actorsBefore(2)
                .actorsPerThread(2)
                .actorsAfter(0)
                // It takes a recursion for a loop that does not end.
                .addGuarantee(ManagedStrategyGuaranteeKt.forClasses("io.lockkeeper.engine.StackRoom")
                        .allMethods()
                        .ignore())
                .verifier(EpsilonVerifier.class)
                .check(LocalLockLincheckTest.class);
    }

    @Test
    void threadsAtFullSpeedKeepThePromises() {
        new StressOptions()
                .iterations(6)
                .invocationsPerIteration(STRESS)
                .threads(STRESS_THREADS)
                .actorsBefore(2)
                .actorsPerThread(4)
                .actorsAfter(0)
                .verifier(EpsilonVerifier.class)
                .check(LocalLockLincheckTest.class);
    }
}
