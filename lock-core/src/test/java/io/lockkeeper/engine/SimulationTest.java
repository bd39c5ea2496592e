/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.engine.SimulationPlan.Ask;
import io.lockkeeper.engine.SimulationPlan.OnLoss;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/**
 * Histories of several instances on one virtual clock. More of them: {@code -Dlockkeeper.simulation.histories=1000000};
 * one of them again: {@code -Dlockkeeper.simulation.seed=...} with one history.
 */
class SimulationTest {

    private static final long SEED = Long.getLong("lockkeeper.simulation.seed", 1);
    private static final long HISTORIES = Long.getLong("lockkeeper.simulation.histories", 500);
    private static final long TOO_LONG_NANOS = TimeUnit.DAYS.toNanos(1);

    @Test
    void nothingIsWrongInAnyHistory() {
        assertThat(Simulation.search(SEED, HISTORIES, TOO_LONG_NANOS))
                .as("failing history")
                .isNull();
    }

    @Test
    void aHistoryIsTheSameEachTime() {
        for (long seed = 1; seed <= 50; seed++) {
            SimulationPlan plan = SimulationPlan.of(seed);
            assertThat(Simulation.run(plan)).as("seed %d", seed).isEqualTo(Simulation.run(plan));
        }
    }

    /** Several answers are looked at together in it, whose order was that of a set. */
    @RepeatedTest(20)
    void aHistoryWithAnswersThatComeTooLateIsTheSameEachTime() {
        SimulationPlan plan = SimulationPlan.of(1_641);
        assertThat(Simulation.run(plan)).isEqualTo(Simulation.run(plan));
    }

    /** Its grant had ended while the machine was suspended, of which the monotonic clock knows nothing. */
    @Test
    void aFixedLeaseByAGrantIsNotBelievedAfterASuspension() {
        SimulationPlan plan = new SimulationPlan(
                345,
                3,
                6_000,
                16,
                5,
                List.of(0, 0, 0),
                List.of(
                        ask(294_735, 2, 3, LockMode.FAIR, 0, 1_302_784),
                        ask(296_135, 2, 4, LockMode.EXCLUSIVE, 551, 227),
                        new SimulationPlan.Pause(1_372_592, 2, 7_064, true),
                        ask(1_587_894, 0, 31, LockMode.FAIR, 0, 188)));

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** For as long as the store may keep what was held: the wall clock of the instance says nothing of that. */
    @Test
    void aReleaseIsRepeatedAlthoughTheWallClockJumped() {
        List<SimulationPlan.Step> steps = List.of(
                ask(3_050_936, 1, 29, LockMode.EXCLUSIVE, 0, 17_851),
                new SimulationPlan.ServerPause(3_056_890, 4_739),
                new SimulationPlan.Cut(3_424_328, 1, 1_519),
                new SimulationPlan.Jump(3_951_047, 1, 8_795));
        for (long seed = 1; seed <= 10; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 10_000, 0, 0, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).isEmpty();
        }
    }

    /** While it waits for the second name, it has the first one for longer than its lease. */
    @Test
    void whatACallerHadWhoseWaitEndedGoesBackAfterALongCut() {
        List<SimulationPlan.Step> steps = List.of(
                new Ask(6_019_338, 1, 60, List.of("b"), LockMode.EXCLUSIVE, 1_560, 0, 0, 0, 3_730_051, OnLoss.NOTHING),
                new Ask(
                        6_207_595,
                        1,
                        66,
                        List.of("a", "b"),
                        LockMode.EXCLUSIVE,
                        2_511,
                        1_851,
                        0,
                        0,
                        484,
                        OnLoss.NOTHING),
                new SimulationPlan.Cut(6_210_035, 1, 7_263));
        SimulationPlan plan = new SimulationPlan(1, 2, 10_000, 16, 0, List.of(0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /**
     * The first name was kept for longer than the fixed lease, of which the store knows when the second one is there.
     */
    @Test
    void whatIsLeftOfSeveralLocksAfterALossGoesBackAfterACut() {
        List<String> both = List.of("a", "b");
        List<SimulationPlan.Step> steps = List.of(
                new Ask(3_746, 1, 0, List.of("b"), LockMode.FAIR, 232, 0, 0, 0, 39_755, OnLoss.NOTHING),
                new Ask(
                        8_005,
                        0,
                        3,
                        both,
                        LockMode.EXCLUSIVE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        838,
                        OnLoss.NOTHING),
                new Ask(10_254, 0, 4, both, LockMode.EXCLUSIVE, 2_283, 322, 0, 0, 36_398, OnLoss.BLOCK),
                new Ask(10_498, 1, 5, List.of("b"), LockMode.FAIR, 2_119, 0, 0, 0, 16_100, OnLoss.THROW),
                new SimulationPlan.Pause(111_469, 0, 294, true),
                new SimulationPlan.Cut(133_292, 0, 379));
        SimulationPlan plan = new SimulationPlan(13_769, 2, 10_000, 2, 50, List.of(4, -2_895), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** Its release is repeated for as long as the store may keep the first name. */
    @Test
    void whatIsLeftOfSeveralLocksAfterAReleaseGoesBackAfterALongCut() {
        Ask both = new Ask(
                4_321_628,
                0,
                13,
                List.of("a", "b"),
                LockMode.EXCLUSIVE,
                SimulationPlan.WITHOUT_LIMIT,
                162,
                0,
                0,
                21_366,
                OnLoss.BLOCK);
        List<SimulationPlan.Step> steps = List.of(
                new Ask(4_234_683, 0, 11, List.of("a"), LockMode.READ, 901, 0, 0, 0, 359, OnLoss.NOTHING),
                new Ask(4_320_989, 0, 12, List.of("b"), LockMode.WRITE, 0, 0, 0, 0, 4_787, OnLoss.NOTHING),
                both,
                new SimulationPlan.Cut(4_347_950, 0, 9_479));
        SimulationPlan plan = new SimulationPlan(30_144_208, 2, 10_000, 0, 0, List.of(-1_319, -289), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** The second was granted and taken by force while the connections were cut, and the store says that it ended. */
    @Test
    void theFirstOfSeveralLocksGoesBackWhereTheAttemptEndedAtTheSecond() {
        Ask both = new Ask(
                2_522_966,
                1,
                21,
                List.of("a", "b"),
                LockMode.READ,
                SimulationPlan.WITHOUT_LIMIT,
                0,
                0,
                0,
                468,
                OnLoss.NOTHING);
        List<SimulationPlan.Step> steps = List.of(
                new Ask(657_642, 0, 17, List.of("b"), LockMode.EXCLUSIVE, 2_353, 0, 0, 0, 8_000_000, OnLoss.NOTHING),
                both,
                new SimulationPlan.Cut(6_614_447, 1, 5_219),
                new SimulationPlan.Revoke(11_211_137, "b"));
        SimulationPlan plan = new SimulationPlan(90_007_611, 2, 10_000, 16, 50, List.of(0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /**
     * Its grant came while the machine was suspended: by the monotonic clock alone, no renewal would be later than
     * that.
     */
    @Test
    void aLeaseByAGrantIsRenewedAfterASuspension() {
        List<SimulationPlan.Step> steps = List.of(
                ask(3_316_494, 1, 20, LockMode.EXCLUSIVE, 0, SimulationPlan.WITHOUT_LIMIT),
                ask(6_792_771, 0, 61, LockMode.READ, 0, 4_306_804),
                new SimulationPlan.Pause(8_998_672, 0, 6_722, true));
        SimulationPlan plan = new SimulationPlan(3_022_878, 2, 6_000, 0, 50, List.of(-7_758, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /**
     * The news comes twice, and once more when the writer has become a reader, of which the store knows nothing yet.
     */
    @Test
    void lateNewsOfAGrantDoesNotEndTheHoldOfAWriterWhoBecomesAReader() {
        List<SimulationPlan.Step> steps = List.of(
                new Ask(8_653, 3, 1, List.of("a"), LockMode.FAIR, 112, 0, 0, 0, 202, OnLoss.NOTHING),
                new Ask(9_153, 3, 3, List.of("a"), LockMode.EXCLUSIVE, 451, 0, 0, 231, 22_512, OnLoss.NOTHING),
                new SimulationPlan.Trouble(9_391, 3, 553, 34, 15, 1_381),
                new Ask(9_394, 2, 4, List.of("a"), LockMode.EXCLUSIVE, 1_492, 0, 0, 0, 21_251, OnLoss.NOTHING),
                new SimulationPlan.Downgrade(12_937, 3));
        SimulationPlan plan = new SimulationPlan(88_025_396, 4, 2_000, 1, 50, List.of(0, 0, 204, 8_995), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** The store says no to the renewal that was under way, after the time for which the lease was asked. */
    @Test
    void aFixedLeaseThatEndedDuringASuspensionEndedAsAsked() {
        List<SimulationPlan.Step> steps = List.of(
                ask(1_379_414, 0, 2, LockMode.EXCLUSIVE, 0, 458),
                ask(1_379_670, 1, 3, LockMode.READ, 2_369, 440),
                new SimulationPlan.ServerPause(1_379_689, 75),
                new SimulationPlan.ServerPause(1_779_973, 4_259),
                new SimulationPlan.Pause(2_246_009, 1, 6_720, true));
        for (long seed = 1; seed <= 10; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 6_000, 0, 50, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).isEmpty();
        }
    }

    /** By the monotonic clock alone, the store would have said so too early. */
    @Test
    void aRenewedLeaseThatEndedDuringASuspensionWasNotRenewed() {
        List<SimulationPlan.Step> steps = List.of(
                ask(10_000, 0, 0, LockMode.EXCLUSIVE, 0, 8_000_000),
                new SimulationPlan.ServerPause(900_000, 3_000),
                new SimulationPlan.Pause(1_100_000, 0, 3_500, true));
        for (long seed = 1; seed <= 10; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 3_000, 0, 0, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).isEmpty();
        }
    }

    /** Another caller of the instance sees that its time is over, before the look that is due does. */
    @Test
    void anExtendedLeaseThatAnotherCallerSeesEndedEndedAsAsked() {
        List<SimulationPlan.Step> steps = List.of(
                ask(10_000, 0, 2, LockMode.EXCLUSIVE, 0, 2_000_000),
                new SimulationPlan.Extend(100_000, 2, 300),
                new SimulationPlan.Pause(350_000, 0, 600, false),
                ask(360_000, 0, 4, LockMode.EXCLUSIVE, 0, 100));
        SimulationPlan plan = new SimulationPlan(1, 2, 3_000, 0, 0, List.of(0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** The answer to a poll came while the instance stood still, and the news that it is overdue was told after it. */
    @Test
    void theStoreIsNotSilentThatAnsweredWhileTheInstanceStoodStill() {
        List<SimulationPlan.Step> steps = List.of(
                ask(276, 0, 0, LockMode.FAIR, 2_353, 306),
                ask(79_111, 1, 6, LockMode.READ, 0, 147),
                new SimulationPlan.ServerPause(2_152_210, 295),
                new SimulationPlan.Pause(2_233_078, 1, 4_472, false),
                new Ask(2_233_377, 1, 30, List.of("a"), LockMode.READ, 5, 0, 0, 0, 9_545, OnLoss.NOTHING),
                new SimulationPlan.Trouble(5_892_431, 1, 1_793, 100, 16, 1));
        for (long seed = 1; seed <= 10; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 2_000, 1, 50, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).isEmpty();
        }
    }

    /** The end by its grant and the fixed one are in the same millisecond, which the wall clock cannot tell apart. */
    @Test
    void aFixedLeaseByAGrantIsNotRenewedOnAndOn() {
        List<SimulationPlan.Step> steps = List.of(
                ask(1_000, 0, 0, LockMode.EXCLUSIVE, 0, 100_000),
                ask(2_950, 1, 2, LockMode.EXCLUSIVE, 1_258, 5_000_000));
        for (long seed = 1; seed <= 10; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 10_000, 0, 5, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).isEmpty();
        }
    }

    /** Of its earlier end the store never heard. */
    @Test
    void whatEndsEarlierThanTheStoreKnowsGoesBackAfterACut() {
        List<SimulationPlan.Step> steps = List.of(
                ask(880_815, 0, 3, LockMode.EXCLUSIVE, 0, 4_550_034),
                new SimulationPlan.Cut(1_035_350, 0, 5_395),
                new SimulationPlan.Extend(1_075_317, 3, 345));
        SimulationPlan plan = new SimulationPlan(1, 2, 10_000, 16, 5, List.of(0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /**
     * The store may have heard of its later end, of which the holder has no answer: half of the commands outlive the
     * cut.
     */
    @Test
    void whatTheStoreKeepsForLongerThanALeaseGoesBackAfterACut() {
        List<SimulationPlan.Step> steps = List.of(
                ask(880_815, 0, 3, LockMode.EXCLUSIVE, 0, 1_000_000),
                new SimulationPlan.Extend(1_035_300, 3, 60_000),
                new SimulationPlan.Cut(1_035_320, 0, 8_000));
        for (long seed = 1; seed <= 10; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 2_000, 16, 5, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).isEmpty();
        }
    }

    /** Its lease was extended for the inner level, and became that of a reader before the level began. */
    @Test
    void aWriterWhoBecomesAReaderWhileItEntersAgainIsRefused() {
        List<SimulationPlan.Step> steps = List.of(
                new Ask(
                        1_166_582,
                        3,
                        2,
                        List.of("b"),
                        LockMode.EXCLUSIVE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        264,
                        OnLoss.NOTHING),
                ask(1_404_810, 3, 4, LockMode.EXCLUSIVE, 936, 36_744),
                new SimulationPlan.Reenter(1_407_358, 4, 2_370, 47_178),
                new SimulationPlan.Pause(1_409_062, 1, 261, true),
                new SimulationPlan.Downgrade(1_409_088, 4));
        SimulationPlan plan = new SimulationPlan(500_009_423, 4, 6_000, 2, 0, List.of(0, 321, -215, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** Its release was lost with the server, whose clock had been set back by 6 s while it was held. */
    @Test
    void whatIsNotReleasedMayLastForAsLongAsTheServersClockWasSetBack() {
        List<SimulationPlan.Step> steps = List.of(
                ask(191_796, 0, 7, LockMode.WRITE, 0, 32_124),
                new SimulationPlan.ServerPause(192_222, 3_689),
                new SimulationPlan.ServerStep(472_477, -1_224),
                new SimulationPlan.ServerStep(473_947, -2_221),
                new SimulationPlan.ServerStep(482_091, -2_526),
                new SimulationPlan.Failover(2_997_148, 986, 0));
        SimulationPlan plan = new SimulationPlan(20_261_123_225_795L, 2, 2_000, 2, 5, List.of(0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** It waited with the first of its locks, and left; that was lost with the writes of a server that died. */
    @Test
    void whatWaitsWithTheFirstOfItsLocksMayLastForAsLongAsAPlace() {
        List<SimulationPlan.Step> steps = List.of(
                new SimulationPlan.Pause(105_505, 2, 833, true),
                new Ask(105_910, 2, 10, List.of("a", "b"), LockMode.READ, 1_246, 0, 0, 0, 188, OnLoss.NOTHING),
                new Ask(152_556, 2, 12, List.of("b"), LockMode.EXCLUSIVE, 109, 0, 0, 0, 9_153, OnLoss.BLOCK),
                new SimulationPlan.Failover(1_728_942, 663, 786));
        SimulationPlan plan = new SimulationPlan(20_261_123_808_453L, 3, 10_000, 2, 0, List.of(35, 441, -247), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** The wall clock is set forward just before: what is lost for us only is the store's for as long as its lease. */
    @Test
    void whatIsLostWhileItsInstanceClosesGoesBackFirst() {
        List<SimulationPlan.Step> steps = List.of(
                new Ask(3_201_987, 0, 37, List.of("a"), LockMode.READ, 2_263, 0, 0, 0, 4_894_452, OnLoss.NOTHING),
                new SimulationPlan.Jump(5_770_205, 0, 12_987),
                new SimulationPlan.Close(5_781_322, 0));
        for (long seed = 50_396_500; seed < 50_396_600; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 3_000, 2, 5, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).as("seed %d", seed).isEmpty();
        }
    }

    /** All the times of its steps are over when it goes on, and nothing has gone back yet. */
    @Test
    void whatIsHeldGoesBackWhenAnInstanceStandsStillWhileItCloses() {
        for (long at = 4_604_800; at < 4_607_000; at += 20) {
            List<SimulationPlan.Step> steps = List.of(
                    ask(4_510_166, 2, 23, LockMode.WRITE, 0, 30_000_000),
                    new SimulationPlan.Close(4_604_898, 2),
                    new SimulationPlan.Pause(at, 2, 13_500, false));
            SimulationPlan plan = new SimulationPlan(81_160_046, 3, 60_000, 16, 5, List.of(0, 0, 0), steps);

            assertThat(Simulation.run(plan).faults()).as("paused at %d", at).isEmpty();
        }
    }

    /** Its lease was to be extended for an inner body, and ended first, as it was asked to. */
    @Test
    void whoLocksAnewWhileABodyIsAboutToBeginIsToldOfTheLoss() {
        List<SimulationPlan.Step> steps = List.of(
                ask(1_693, 0, 0, LockMode.EXCLUSIVE, 1_489, 6_176),
                ask(113_942, 0, 1, LockMode.WRITE, 0, 129),
                new SimulationPlan.Reenter(1_324_178, 0, 3_329, 33_533),
                new SimulationPlan.Jump(1_324_458, 0, 12_073));
        SimulationPlan plan = new SimulationPlan(81_189_903, 2, 2_000, 1, 0, List.of(0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** It was suspended while it waited, so that the end of its grant seems later on the monotonic clock. */
    @Test
    void aFixedLeaseThatCameByAMessageLastsAfterASuspension() {
        List<SimulationPlan.Step> steps = List.of(
                new Ask(
                        5_186_785,
                        0,
                        65,
                        List.of("a"),
                        LockMode.EXCLUSIVE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        253,
                        3_135_418,
                        OnLoss.THROW),
                ask(5_781_338, 1, 66, LockMode.EXCLUSIVE, 2_384, 25_861),
                new SimulationPlan.Pause(6_283_022, 1, 1_885, true),
                new SimulationPlan.ServerStep(6_423_286, 249));
        SimulationPlan plan = new SimulationPlan(81_309_303, 2, 3_000, 2, 50, List.of(244, -90), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** The wall clock is set back before the end is told. */
    @Test
    void aFixedLeaseEndsAsAskedByAClockThatIsAheadForAWhile() {
        List<SimulationPlan.Step> steps = List.of(
                ask(1_338_151, 1, 11, LockMode.READ, 147, 1_340_510),
                new SimulationPlan.Jump(1_343_360, 1, 4_918),
                new SimulationPlan.Look(1_353_482),
                new SimulationPlan.Jump(1_416_791, 1, -15_040));
        SimulationPlan plan = new SimulationPlan(85_182_152, 2, 3_000, 2, 0, List.of(8_653, 179), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** The wall clock is ahead when it is renewed to its end, and is set back afterwards. */
    @Test
    void aFixedLeaseIsKeptToItsEndByTheClockThatIsNotSetBack() {
        List<SimulationPlan.Step> steps = List.of(
                ask(1_000_000, 1, 1, LockMode.EXCLUSIVE, 0, 500_000),
                ask(1_100_000, 0, 2, LockMode.EXCLUSIVE, 2_087, 5_000_000),
                ask(1_200_000, 1, 3, LockMode.EXCLUSIVE, 0, 1_000),
                new SimulationPlan.Jump(1_600_000, 0, 400),
                new SimulationPlan.Jump(2_300_000, 0, -17_857));
        for (long seed = 91_614_400; seed < 91_614_500; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 2_000, 1, 5, List.of(0, 0), steps);

            assertThat(Simulation.run(plan).faults()).as("seed %d", seed).isEmpty();
        }
    }

    /** Its clock drifts while it is suspended: what the grant says is too old to be told in local time. */
    @Test
    void aGrantThatComesAfterALongSuspensionIsConfirmedFirst() {
        List<SimulationPlan.Step> steps = List.of(
                ask(364_882, 0, 7, LockMode.READ, 0, 2_124_398),
                ask(364_983, 1, 8, LockMode.EXCLUSIVE, 1_771, 109),
                new SimulationPlan.Pause(407_105, 0, 5_846, true),
                new SimulationPlan.Pause(1_555_124, 1, 13_515, true),
                new SimulationPlan.Pause(6_252_644, 0, 6_929, false),
                ask(6_284_728, 0, 24, LockMode.READ, 0, 317),
                ask(6_452_638, 0, 28, LockMode.WRITE, 0, 470));
        for (long seed = 2_101_500; seed < 2_101_600; seed++) {
            SimulationPlan plan = new SimulationPlan(seed, 2, 10_000, 16, 50, List.of(0, -8_735), steps);

            assertThat(Simulation.run(plan).faults()).as("seed %d", seed).isEmpty();
        }
    }

    /** The look at the clocks was put off for another hold, which was due after it. */
    @Test
    void aJumpIsSeenInTimeWhereAnotherHoldIsDueSoon() {
        List<SimulationPlan.Step> steps = List.of(
                new Ask(3703, 0, 0, List.of("c"), LockMode.FAIR, 0, 0, 0, 0, 76, OnLoss.NOTHING),
                new Ask(
                        3839,
                        1,
                        1,
                        List.of("a"),
                        LockMode.READ,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        1480486,
                        OnLoss.NOTHING),
                new Ask(4010, 2, 2, List.of("c"), LockMode.WRITE, 2566, 0, 0, 0, 797567, OnLoss.NOTHING),
                new Ask(
                        7729,
                        0,
                        3,
                        List.of("a"),
                        LockMode.EXCLUSIVE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        25813,
                        OnLoss.NOTHING),
                new SimulationPlan.Cut(7778, 0, 18),
                new Ask(
                        9201,
                        0,
                        5,
                        List.of("a"),
                        LockMode.WRITE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        2,
                        0,
                        9551,
                        OnLoss.NOTHING),
                new Ask(
                        114289,
                        1,
                        6,
                        List.of("a", "b"),
                        LockMode.WRITE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        186,
                        OnLoss.NOTHING),
                new Ask(316700, 0, 10, List.of("a"), LockMode.WRITE, 1813, 0, 0, 0, 4202098, OnLoss.NOTHING),
                new Ask(
                        322096,
                        0,
                        12,
                        List.of("a"),
                        LockMode.WRITE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        54,
                        OnLoss.NOTHING),
                new Ask(
                        325883,
                        0,
                        15,
                        List.of("c"),
                        LockMode.EXCLUSIVE,
                        SimulationPlan.WITHOUT_LIMIT,
                        0,
                        0,
                        0,
                        2374456,
                        OnLoss.THROW),
                new SimulationPlan.Cancel(551147, 15),
                new Ask(1569978, 0, 24, List.of("c"), LockMode.WRITE, 2077, 0, 0, 0, 4204781, OnLoss.NOTHING),
                new SimulationPlan.Jump(5632490, 0, 4306),
                new SimulationPlan.Look(5636651));
        SimulationPlan plan = new SimulationPlan(93_393_305, 3, 2_000, 2, 5, List.of(66, 0, 0), steps);

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    /** Its reader had left, so the answer to the downgrade released it a second time. */
    @Test
    void aReleaseThatCrossesTheAnswerToADowngradeIsNoLoss() {
        SimulationPlan plan = new SimulationPlan(
                774_568_632,
                4,
                3_000,
                16,
                50,
                List.of(83, -5_180, -408, 0),
                List.of(
                        ask(3_043, 3, 1, LockMode.EXCLUSIVE, 0, 10_377),
                        new SimulationPlan.Trouble(3_317, 3, 2_283, 0, 53, 2_384),
                        new SimulationPlan.Downgrade(3_535, 1)));

        assertThat(Simulation.run(plan).faults()).isEmpty();
    }

    private static Ask ask(long at, int instance, int id, LockMode mode, long fixedMillis, long holdMicros) {
        return new Ask(
                at,
                instance,
                id,
                List.of("a"),
                mode,
                SimulationPlan.WITHOUT_LIMIT,
                fixedMillis,
                0,
                0,
                holdMicros,
                OnLoss.NOTHING);
    }
}
