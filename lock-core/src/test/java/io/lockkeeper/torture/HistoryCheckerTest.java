/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.torture.Disaster.Harm;
import io.lockkeeper.torture.Event.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HistoryCheckerTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    private final History history = new History();
    private final List<Window> faults = new ArrayList<>();
    private final List<DataLoss> losses = new ArrayList<>();

    private static long at(long millis) {
        return 1_000_000_000L + millis * 1_000_000;
    }

    private void event(long millis, Kind kind, String id, String... details) {
        history.add(Event.parse(Event.at(at(millis), kind, id, details).line()));
    }

    private void asked(long millis, String id) {
        event(millis, Kind.ASKED, id, "form", "EXCLUSIVE", "bound", "500");
    }

    private void held(long millis, String id, String mode, String locks, long until) {
        asked(millis, id);
        event(millis, Kind.HELD, id, "mode", mode, "locks", locks, "until", "" + at(until));
    }

    private void granted(long millis, String id, String locks, long until, String way) {
        asked(millis - 50, id);
        event(
                millis,
                Kind.HELD,
                id,
                "mode",
                "EXCLUSIVE",
                "locks",
                locks,
                "until",
                "" + at(until),
                "fixed",
                "0",
                "way",
                way,
                "granted",
                "500");
    }

    private void ending(long millis, String id, long until) {
        event(millis, Kind.ENDING, id, "until", "" + at(until));
        event(millis + 1, Kind.OVER, id, "result", "RELEASED");
    }

    private HistoryChecker checker() {
        return new HistoryChecker(history, faults, LEASE, losses);
    }

    private void loss(long from, long to, Harm harm) {
        losses.add(new DataLoss(at(from), at(to), harm));
    }

    private void lost(long millis, String id) {
        event(millis, Kind.LOST, id, "reason", "the store says so");
    }

    @Test
    void oneAfterTheOtherWithRisingTokensIsRight() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5,b:9", 900);
        ending(100, "w0/1/1", 900);
        held(101, "w1/1/1", "EXCLUSIVE", "a:6", 1_000);
        ending(200, "w1/1/1", 1_000);
        held(102, "w2/1/1", "EXCLUSIVE", "b:10", 1_000);
        ending(200, "w2/1/1", 1_000);
        assertThat(checker().violations()).isEmpty();
        assertThat(checker().explainedLosses()).isEmpty();
        assertThat(checker().unexplainedLosses()).isEmpty();
    }

    @Test
    void twoWhoBelieveAtOneMomentAreFoundInTheNameThatTheyShare() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5,b:9", 900);
        ending(100, "w0/1/1", 900);
        held(99, "w1/1/1", "EXCLUSIVE", "b:10,c:1", 1_000);
        ending(200, "w1/1/1", 1_000);
        assertThat(checker().violations()).singleElement().asString().contains("Two hold 'b' for 1 ms");
    }

    @Test
    void aKilledHolderBelievesUntilItsDeadline() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        event(50, Kind.STILL, "w0/1/1", "until", "" + at(950));
        held(940, "w1/1/1", "EXCLUSIVE", "a:6", 1_900);
        assertThat(checker().violations()).singleElement().asString().contains("Two hold 'a'");
    }

    @Test
    void aStoppedHolderBelievesUntilItsDeadlineAndNotUntilItWakes() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        held(901, "w1/1/1", "EXCLUSIVE", "a:6", 1_900);
        ending(1_000, "w1/1/1", 1_900);
        ending(3_000, "w0/1/1", 3_000);
        assertThat(checker().violations()).isEmpty();
    }

    @Test
    void aShorterHoldWithinALongerOneIsFoundBeforeAndAfterAnother() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 5_000);
        ending(4_000, "w0/1/1", 5_000);
        held(1_000, "w1/1/1", "EXCLUSIVE", "a:6", 2_000);
        ending(1_100, "w1/1/1", 2_000);
        held(2_000, "w2/1/1", "EXCLUSIVE", "a:7", 3_000);
        ending(2_100, "w2/1/1", 3_000);
        assertThat(checker().violations()).hasSize(2);
    }

    @Test
    void twoMayMeetWhereTheDataOfTheFirstWasLost() {
        loss(500, 600, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(100, "w0/1/1", "EXCLUSIVE", "a:5", 1_100);
        held(700, "w1/1/1", "EXCLUSIVE", "a:6", 1_700);
        event(750, Kind.STILL, "w0/1/1", "until", "" + at(1_100));
        lost(800, "w0/1/1");
        ending(1_000, "w1/1/1", 1_700);
        assertThat(checker().violations()).isEmpty();
        losses.clear();
        loss(500, 600, Harm.LOCKS_ARE_LOST);
        assertThat(checker().violations()).singleElement().asString().contains("Two hold 'a'");
    }

    @Test
    void oneWhoWasExcusedDoesNotHideThatOthersMeet() {
        loss(500, 600, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(100, "w0/1/1", "EXCLUSIVE", "a:5", 1_500);
        held(700, "w1/1/1", "EXCLUSIVE", "a:6", 1_700);
        held(800, "w2/1/1", "EXCLUSIVE", "a:7", 1_800);
        ending(900, "w1/1/1", 1_700);
        ending(900, "w2/1/1", 1_800);
        ending(1_400, "w0/1/1", 1_500);
        assertThat(checker().violations())
                .singleElement()
                .asString()
                .contains("Two hold 'a' for 100 ms: w1/1/1")
                .contains("and w2/1/1");
    }

    @Test
    void theOneWhoBeganLaterMayBeTheOneWhoseDataWasLost() {
        loss(500, 800, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(600, "w0/1/1", "EXCLUSIVE", "a:5", 1_600);
        held(700, "w1/1/1", "EXCLUSIVE", "a:6", 1_700);
        event(1_000, Kind.STILL, "w0/1/1", "until", "" + at(1_950));
        ending(1_000, "w1/1/1", 1_700);
        ending(1_100, "w0/1/1", 1_950);
        assertThat(checker().violations()).isEmpty();
    }

    @Test
    void nothingIsExcusedForOneThatTheStoreKnewAfterTheLoss() {
        loss(500, 600, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(100, "w0/1/1", "EXCLUSIVE", "a:5", 1_100);
        event(650, Kind.STILL, "w0/1/1", "until", "" + at(1_610));
        held(700, "w1/1/1", "EXCLUSIVE", "a:6", 1_700);
        event(710, Kind.STILL, "w0/1/1", "until", "" + at(1_610));
        lost(800, "w0/1/1");
        ending(1_000, "w1/1/1", 1_700);
        assertThat(checker().violations())
                .hasSize(2)
                .anyMatch(text -> text.startsWith("Two hold 'a'"))
                .anyMatch(text -> text.startsWith("Lost 810 ms before its deadline"));
    }

    /**
     * A grant, and what is passed on of it, lasts for half a lease only: so the store gave it later than its end says.
     */
    @Test
    void nothingIsExcusedForOneWhomTheStoreGrantedTheLockAfterTheLoss() {
        loss(500, 600, Harm.LOCKS_ARE_GIVEN_TWICE);
        granted(800, "w0/1/1", "a:5", 1_250, "GRANT");
        ending(820, "w0/1/1", 1_250);
        granted(830, "w0/1/2", "a:6", 1_250, "PASS");
        granted(850, "w1/1/1", "a:7", 1_300, "GRANT");
        ending(900, "w0/1/2", 1_250);
        ending(950, "w1/1/1", 1_300);
        assertThat(checker().violations()).singleElement().asString().contains("Two hold 'a' for 50 ms");
    }

    @Test
    void aGrantFromBeforeTheLossIsExcusedUntilItIsRenewedAfterIt() {
        loss(500, 600, Harm.LOCKS_ARE_GIVEN_TWICE);
        granted(450, "w0/1/1", "a:5", 900, "GRANT");
        held(650, "w1/1/1", "EXCLUSIVE", "a:6", 1_640);
        ending(700, "w1/1/1", 1_640);
        assertThat(checker().violations()).isEmpty();
        // A renewal of a grant lasts for a lease again.
        event(700, Kind.STILL, "w0/1/1", "until", "" + at(1_590));
        assertThat(checker().violations()).isEmpty();
        event(750, Kind.STILL, "w0/1/1", "until", "" + at(1_610));
        assertThat(checker().violations()).singleElement().asString().contains("Two hold 'a'");
    }

    @Test
    void aGrantThatTheStoreHasConfirmedCountsAsAnAnswer() {
        loss(500, 600, Harm.LOCKS_ARE_GIVEN_TWICE);
        asked(300, "w0/1/1");
        event(650, Kind.HELD, "w0/1/1", "mode", "EXCLUSIVE", "locks", "a:5", "until", "" + at(1_350), "way", "GRANT");
        held(700, "w1/1/1", "EXCLUSIVE", "a:6", 1_690);
        ending(750, "w1/1/1", 1_690);
        assertThat(checker().violations()).isEmpty();
    }

    @Test
    void twoMastersGiveTokensInAnyOrderUntilTheOldOneKnows() {
        loss(500, 800, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(600, "w0/1/1", "EXCLUSIVE", "a:9", 1_500);
        ending(650, "w0/1/1", 1_500);
        held(700, "w1/1/1", "EXCLUSIVE", "a:7", 1_750);
        ending(750, "w1/1/1", 1_750);
        assertThat(checker().violations()).isEmpty();
        held(900, "w1/1/2", "EXCLUSIVE", "a:8", 1_900);
        ending(950, "w1/1/2", 1_900);
        assertThat(checker().violations()).singleElement().asString().contains("must be at least 10");
    }

    @Test
    void theTokenOfAGrantIsFromBeforeItsConfirmation() {
        loss(500, 800, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(600, "w0/1/1", "EXCLUSIVE", "a:9", 1_500);
        ending(650, "w0/1/1", 1_500);
        asked(790, "w1/1/1");
        asked(810, "w2/1/1");
        confirmed(850, "w1/1/1", "a:7");
        assertThat(checker().violations()).isEmpty();
        confirmed(900, "w2/1/1", "a:8");
        assertThat(checker().violations()).singleElement().asString().contains("must be at least 10: w2/1/1");
    }

    @Test
    void aRenewalMakesNoTokenYounger() {
        loss(500, 800, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(600, "w0/1/1", "EXCLUSIVE", "a:9", 1_500);
        ending(650, "w0/1/1", 1_500);
        held(700, "w1/1/1", "EXCLUSIVE", "a:7", 1_690);
        event(900, Kind.STILL, "w1/1/1", "until", "" + at(1_890));
        ending(950, "w1/1/1", 1_890);
        assertThat(checker().violations()).isEmpty();
    }

    /** The store has granted a lock, and now confirmed that for a whole lease; the caller gives it back at once. */
    private void confirmed(long millis, String id, String locks) {
        String until = "" + at(millis - 10 + LEASE.toMillis());
        event(millis, Kind.HELD, id, "mode", "EXCLUSIVE", "locks", locks, "until", until, "way", "GRANT");
        ending(millis + 10, id, millis - 10 + LEASE.toMillis());
    }

    @Test
    void noMasterGivesATokenBelowOneFromBeforeTheLoss() {
        held(100, "w0/1/1", "EXCLUSIVE", "a:9", 1_100);
        ending(150, "w0/1/1", 1_100);
        loss(500, 800, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(700, "w1/1/1", "EXCLUSIVE", "a:7", 1_750);
        ending(750, "w1/1/1", 1_750);
        assertThat(checker().violations()).singleElement().asString().contains("must be at least 10");
    }

    @Test
    void aReaderKnowsFewerWritersOnlyOfThoseBeforeALoss() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        ending(100, "w0/1/1", 900);
        loss(200, 300, Harm.LOCKS_ARE_GIVEN_TWICE);
        held(400, "w1/1/1", "READ", "a:4", 1_400);
        ending(450, "w1/1/1", 1_400);
        assertThat(checker().violations()).isEmpty();
        held(500, "w0/1/2", "EXCLUSIVE", "a:6", 1_500);
        ending(550, "w0/1/2", 1_500);
        held(600, "w1/1/2", "READ", "a:4", 1_600);
        ending(650, "w1/1/2", 1_600);
        assertThat(checker().violations()).singleElement().asString().contains("must be at least 6");
    }

    /**
     * The first master is away for 500 ms, may be noticed after as long again, and gives no locks for a lease and 2 s.
     */
    @Test
    void oneMasterOfAQuorumTakesOnlyWhatAnotherOneLacks() {
        loss(500, 1_000, Harm.LOCKS_ARE_LOST_AFTER_ANOTHER);
        held(400, "w0/1/1", "EXCLUSIVE", "a:5", 1_400);
        lost(900, "w0/1/1");
        held(4_600, "w0/1/2", "EXCLUSIVE", "b:5", 5_600);
        held(4_750, "w0/1/3", "EXCLUSIVE", "c:5", 5_750);
        loss(4_800, 5_000, Harm.LOCKS_ARE_LOST_AFTER_ANOTHER);
        lost(4_900, "w0/1/2");
        lost(4_900, "w0/1/3");
        assertThat(checker().violations())
                .hasSize(2)
                .allMatch(text -> text.startsWith("Lost "))
                .anyMatch(text -> text.contains("{a=5}"))
                .anyMatch(text -> text.contains("{c=5}"));
        assertThat(checker().unexplainedLosses()).hasSize(2);
        // It has seen the restart later.
        faults.add(new Window(at(900), at(1_800), "w0", "STOP_WORKER"));
        assertThat(checker().violations()).singleElement().asString().contains("{a=5}");
    }

    @Test
    void readersMayHoldTogetherButNotWithAWriter() {
        held(0, "w0/1/1", "READ", "a:5", 900);
        held(10, "w1/1/1", "READ", "a:5", 900);
        ending(50, "w0/1/1", 900);
        ending(300, "w1/1/1", 900);
        assertThat(checker().violations()).isEmpty();
        held(200, "w2/1/1", "EXCLUSIVE", "a:6", 900);
        ending(400, "w2/1/1", 900);
        held(350, "w3/1/1", "READ", "a:6", 900);
        ending(500, "w3/1/1", 900);
        assertThat(checker().violations()).hasSize(2);
    }

    @Test
    void aTokenThatDoesNotRiseIsFound() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        ending(10, "w0/1/1", 900);
        held(20, "w1/1/1", "EXCLUSIVE", "a:5", 900);
        ending(30, "w1/1/1", 900);
        held(40, "w2/1/1", "READ", "a:4", 900);
        ending(50, "w2/1/1", 900);
        held(60, "w0/1/2", "READ", "a:9", 900);
        ending(70, "w0/1/2", 900);
        held(80, "w1/1/2", "EXCLUSIVE", "a:9", 900);
        ending(90, "w1/1/2", 900);
        assertThat(checker().violations()).hasSize(3).allSatisfy(text -> assertThat(text)
                .contains("The token of 'a'"));
    }

    @Test
    void aLossBeforeTheDeadlineIsAViolationWhateverWasWrong() {
        faults.add(new Window(at(0), at(5_000), Window.ALL, "STOP_SERVER"));
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        event(800, Kind.LOST, "w0/1/1", "reason", "the store says so");
        event(801, Kind.OVER, "w0/1/1", "result", "LOST");
        assertThat(checker().violations()).singleElement().asString().contains("Lost 100 ms before its deadline");
    }

    @Test
    void aLossIsExplainedByAFaultOfThatWorkerOrOfTheServerWithinTheLease() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        event(2_900, Kind.STILL, "w0/1/1", "until", "" + at(3_800));
        event(3_801, Kind.LOST, "w0/1/1", "reason", "not renewed");
        assertThat(checker().unexplainedLosses()).hasSize(1);
        faults.add(new Window(at(3_000), at(3_100), "w1", "STOP_WORKER"));
        faults.add(new Window(at(1_000), at(2_700), "w0", "STOP_WORKER"));
        assertThat(checker().unexplainedLosses()).hasSize(1);
        faults.add(new Window(at(3_000), at(3_100), "w0", "STOP_WORKER"));
        assertThat(checker().unexplainedLosses()).isEmpty();
        assertThat(checker().explainedLosses()).hasSize(1);
    }

    @Test
    void aReleaseThatTheStoreDoesNotKnowIsALossThatNeedsAnExplanation() {
        held(0, "w0/1/1", "EXCLUSIVE", "a:5", 900);
        event(100, Kind.ENDING, "w0/1/1", "until", "" + at(900));
        event(110, Kind.OVER, "w0/1/1", "result", "LOST");
        assertThat(checker().violations()).isEmpty();
        assertThat(checker().unexplainedLosses()).hasSize(1);
    }

    @Test
    void theEndOfAFixedLeaseExplainsItself() {
        asked(0, "w0/1/1");
        event(0, Kind.HELD, "w0/1/1", "mode", "EXCLUSIVE", "locks", "a:1", "until", "" + at(300), "fixed", "300");
        event(301, Kind.LOST, "w0/1/1", "reason", "its lease time is over");
        assertThat(checker().unexplainedLosses()).isEmpty();
        assertThat(checker().violations()).isEmpty();
    }

    @Test
    void aWaitBeyondItsBoundIsFoundUnlessTheWorkerDidNotRunForThatLong() {
        asked(0, "w0/1/1");
        event(2_000, Kind.OVER, "w0/1/1", "result", "NOT_ACQUIRED");
        assertThat(checker().violations()).singleElement().asString().contains("Answered 1500 ms after the bound");
        history.add(Event.at(at(1_500), Kind.STALLED, "w0/1", "since", "" + at(500)));
        faults.add(new Window(at(600), at(1_600), Window.ALL, "STOP_SERVER"));
        assertThat(checker().violations()).hasSize(1);
        faults.add(new Window(at(1_550), at(2_100), "w0", "STOP_WORKER"));
        assertThat(checker().violations()).isEmpty();
        assertThat(checker().longestWait()).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void anEventThatBelongsToNoRequestIsRefused() {
        assertThatThrownBy(() -> ending(0, "w0/1/1", 900)).hasMessageContaining("Nobody asked");
    }
}
