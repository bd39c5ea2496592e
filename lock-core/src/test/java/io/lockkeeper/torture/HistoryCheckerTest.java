/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.torture.Event.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HistoryCheckerTest {

    private static final Duration LEASE = Duration.ofSeconds(1);

    private final History history = new History();
    private final List<Window> faults = new ArrayList<>();

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

    private void ending(long millis, String id, long until) {
        event(millis, Kind.ENDING, id, "until", "" + at(until));
        event(millis + 1, Kind.OVER, id, "result", "RELEASED");
    }

    private HistoryChecker checker() {
        return new HistoryChecker(history, faults, LEASE);
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
        event(0, Kind.HELD, "w0/1/1", "mode", "EXCLUSIVE", "locks", "a:1", "until", "" + at(300), "fixed", "true");
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
