/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Each planted error is found: what the simulator does not see here, it would not see elsewhere. */
class SimulationSabotageTest {

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** All of them take half a minute. */
    private static final boolean ALL = Boolean.getBoolean("lockkeeper.simulation.sabotage");

    private static final Set<Sabotage> IN_EACH_BUILD = Set.of(
            Sabotage.A_HOLD_PASSES_WITHOUT_END,
            Sabotage.A_LOSS_IS_TOLD_TWICE,
            Sabotage.FAIR_CALLERS_ASK_AT_ONCE,
            Sabotage.A_LEASE_IS_KEPT_THAT_NOBODY_RECEIVED);

    /** An error, as a change of one source file. */
    enum Sabotage {
        A_PLACE_STAYS_BEHIND("LocalLock", "end(waiting, !waiting.gated);", "end(waiting, false);"),
        TWO_CALLERS_GET_ONE_TOKEN("LocalLock", "ended.pass();", ""),
        AN_OVERTAKING_GRANT_IS_FORGOTTEN("LocalLock", "waiting.grant = grant;", ""),
        NOBODY_ASKS_AFTER_A_LOSS(
                "LocalLock",
                "if (gone == hold) {\n            hold = null;\n            askOrRetire(now);",
                "if (gone == hold) {\n            hold = null;"),
        A_HOLD_PASSES_WITHOUT_END("LocalLock", "passes ? poll() : null", "poll()"),
        A_REFUSAL_COMES_LATE("PendingRequest", "leftNanos(now) + GRACE_NANOS", "leftNanos(now) + 20 * GRACE_NANOS"),
        LOCAL_CALLERS_ARE_SERVED_FROM_THE_END("LocalLock", "pending().waiters.add(waiter);", """
                Set<PendingRequest> others = new LinkedHashSet<>(pending().waiters);
                pending().waiters.clear();
                pending().waiters.add(waiter);
                pending().waiters.addAll(others);"""),
        A_LOSS_IS_NOT_TOLD("LeaseRenewer", "ends.add(() -> lose.accept(hold, hold.endReason()));", ""),
        A_LOSS_IS_TOLD_TWICE("ManagedLease", "tell(next, lost);", "tell(next, lost); tell(next, lost);"),
        A_CALLBACK_RUNS_IN_THE_BACKGROUND(
                "ManagedLease", "context().callbacks().execute(", "context().background().execute("),
        A_SUSPENSION_IS_NOT_SEEN(
                "ClockReading", "now.nanos - nanos >= 0 || now.wallMillis >= wallMillis", "now.nanos - nanos >= 0"),
        A_FIXED_GRANT_OUTLIVES_A_SUSPENSION(
                "LeasePolicy", "granted.orEarlier(fixedEnd)", "granted.isAfter(fixedEnd) ? fixedEnd : granted"),
        READERS_PASS_A_WRITER("LeasePolicy", "return !hold.pinned\n                && now", "return now"),
        FAIR_CALLERS_ASK_AT_ONCE("FifoGate", "return queue.element() == lock;", "return true;"),
        A_LOST_RELEASE_IS_NOT_REPEATED("ActionExecutor", "if (end.isAfter(context.now())) {", "if (end == null) {"),
        A_LEASE_IS_KEPT_THAT_NOBODY_RECEIVED(
                "LeaseManager", "asked.isCompletedExceptionally() ? null : asked.join()", "null"),
        A_HEALTHY_STORE_IS_BLAMED("LocalLock", "|| !(heardSince || waiting() != null)", "|| waiting() == null"),
        A_RELEASE_IS_SAID_TO_FIND_A_LOSS(
                "ActionExecutor", "before == ReleaseReply.RELEASED || (answer != null", "(answer != null"),
        A_LATE_POLL_MAKES_A_LOSS_OF_A_RELEASE("LocalLock", "before.releasedTwice();", ""),
        A_DOWNGRADED_HOLD_IS_CANCELLED(
                "LeaseOperations",
                "if (!reader.isOver() && reply == null) {",
                "if (!reader.isOver() && reply == null) { executor.cancel(before, before.attempt(), 0, 0);"),
        A_DOWNGRADED_LEASE_HAS_NO_DEADLINE("StoreHold", "now, deadline(),", "now, now.plusMillis(1L << 40),"),
        CLOSE_DOES_NOT_WAIT_FOR_ANSWERS(
                "PendingAnswers", "none = awaited;\n        tellIfNone();", "awaited.complete(null);"),
        CLOSE_LEAVES_WHAT_IS_HELD(
                "LocalLockManager",
                "registry.held().stream().map(ManagedLease::closeAsync)",
                "java.util.stream.Stream.<CompletableFuture<?>>empty()"),
        AN_ENDED_LEASE_BLOCKS_ITS_OWNER(
                "ManagedLease", "endReason().equals(StoreHold.TIME_OVER)", "endReason().isEmpty()"),
        AN_ERROR_OF_A_RENEWAL_COSTS_THE_LOCK(
                "LeaseRenewer", "CompletableFuture.failedFuture(failure)", "new CompletableFuture<>()"),
        A_MINIMUM_HOLD_TIME_IS_FORGOTTEN(
                "StoreHold", "if (known.freeNanos == ClockReading.NEVER || end", "if (end == 0 && end");

        private final String file;
        private final String part;
        private final String by;

        Sabotage(String file, String part, String by) {
            this.file = file;
            this.part = part;
            this.by = by;
        }
    }

    static Stream<Sabotage> planted() {
        return Stream.of(Sabotage.values()).filter(error -> ALL || IN_EACH_BUILD.contains(error));
    }

    @ParameterizedTest
    @MethodSource("planted")
    void aPlantedErrorIsFound(Sabotage error, @TempDir Path classes) throws Exception {
        SabotagedEngine engine = SabotagedEngine.with(error.file, error.part, error.by, classes);

        assertThat(engine.search(1_000_000, PATIENCE_NANOS)).as("%s", error).isNotNull();
    }

    @ParameterizedTest
    @EnumSource
    void eachErrorCanStillBePlanted(Sabotage error) throws Exception {
        assertThat(SabotagedEngine.source(error.file)).contains(error.part);
    }
}
