/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static io.lockkeeper.quorum.HandMadeStore.last;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the answers of three masters decide, in whatever order they come. */
class QuorumVotesTest {

    private static final long LEASE = 3_000;
    private static final String ATTEMPT = "client00000100000001";

    private final HandMadeStore a = new HandMadeStore();
    private final HandMadeStore b = new HandMadeStore();
    private final HandMadeStore c = new HandMadeStore();
    private final List<HandMadeStore> all = List.of(a, b, c);
    private final QuorumLockStore quorum = new QuorumLockStore(all);
    private final List<String> revoked = new ArrayList<>();

    @BeforeEach
    void open() {
        quorum.open(
                StoredInstance.ofThisProcess("client000001", "test", ""),
                Duration.ofMillis(LEASE),
                new StoreListener() {
                    @Override
                    public void granted(Grant grant) {
                        throw new AssertionError("nobody waits");
                    }

                    @Override
                    public void revoked(String attempt) {
                        revoked.add(attempt);
                    }

                    @Override
                    public void freeIn(String attempt, long remainingMillis) {
                        throw new AssertionError("nobody waits");
                    }

                    @Override
                    public void channelRestored() {
                        throw new AssertionError("nobody waits");
                    }
                });
    }

    @AfterEach
    void close() {
        // Answers nobody is interested in any more would be waited for.
        all.forEach(store -> store.acquired.forEach(HandMadeStore.Question::fail));
        all.forEach(store -> store.released.forEach(HandMadeStore.Question::fail));
        quorum.close();
        assertThat(all).allMatch(store -> store.closed);
    }

    private CompletableFuture<AcquireReply> acquire(String... names) {
        return quorum.acquire(new AcquireCommand(List.of(names), ATTEMPT, ClaimMode.EXCLUSIVE, LEASE, true, 1));
    }

    private CompletableFuture<ReleaseReply> release() {
        return quorum.release(new ReleaseCommand(List.of("x"), ATTEMPT, 7, 0));
    }

    private static <T> void assertNoMajority(CompletableFuture<T> answer, String... faults) {
        assertThatThrownBy(() -> answer.get(20, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(StoreException.class)
                .hasMessageContainingAll(faults);
    }

    @Test
    void theHighestTokenOfAMajorityIsWrittenBackBeforeTheCallerHasTheLock() {
        CompletableFuture<AcquireReply> reply = acquire("x", "y");
        assertThat(all).allSatisfy(store -> {
            assertThat(last(store.acquired).command().attempt()).isEqualTo(ATTEMPT);
            assertThat(last(store.acquired).command().queue()).isFalse();
        });
        a.grants(10, 21);
        assertThat(a.renewed).isEmpty();
        b.grants(11, 20);

        List<RenewCommand> writeBack = List.of(
                new RenewCommand("x", ATTEMPT, LEASE, false, 11), new RenewCommand("y", ATTEMPT, LEASE, false, 21));
        assertThat(last(a.renewed).command()).isEqualTo(writeBack);
        assertThat(last(b.renewed).command()).isEqualTo(writeBack);
        assertThat(c.renewed).isEmpty();
        last(a.renewed).answer(true);
        assertThat(reply).isNotDone();
        last(b.renewed).answer(true);
        assertThat(reply).isCompletedWithValue(new AcquireReply.Acquired(LEASE, List.of(11L, 21L)));

        c.grants(99, 99);
        assertThat(c.renewed).isEmpty();
        assertThat(c.released).isEmpty();
        assertThat(quorum.quorum().attempts.size()).isZero();
    }

    @Test
    void aMasterThatHasLostOneOfTheNamesDoesNotCountAtTheWriteBack() {
        CompletableFuture<AcquireReply> reply = acquire("x", "y");
        a.grants(10, 20);
        b.grants(11, 21);
        b.renews = command -> command.name().equals("x");
        last(a.renewed).answer(true);
        last(b.renewed).answer(true);
        assertThat(reply).isNotDone();
        c.grants(5, 5);
        last(c.renewed).answer(true);
        assertThat(reply).isCompletedWithValue(new AcquireReply.Acquired(LEASE, List.of(11L, 21L)));
        assertThat(quorum.quorum().attempts.size()).isZero();
    }

    @Test
    void aMasterThatGrantsLateHelpsWhereAnotherFailsAtTheWriteBack() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(10);
        b.grants(11);
        last(a.renewed).answer(true);
        last(b.renewed).fail();
        assertThat(reply).isNotDone();
        c.grants(5);
        assertThat(last(c.renewed).command())
                .extracting(RenewCommand::leastToken)
                .containsExactly(11L);
        last(c.renewed).answer(true);
        assertThat(reply).isCompletedWithValue(new AcquireReply.Acquired(LEASE, List.of(11L)));
    }

    @Test
    void aMasterThatGrantsLateAndForLessHasTheWholeLeaseToo() {
        acquire("x");
        a.grants(10);
        b.grants(11);
        last(a.renewed).answer(true);
        last(b.renewed).answer(true);
        last(c.acquired).answer(new AcquireReply.Acquired(LEASE / 3, List.of(5L)));
        assertThat(last(c.renewed).command()).containsExactly(new RenewCommand("x", ATTEMPT, LEASE, false, 11));
    }

    @Test
    void aWriteBackThatAMajorityDoesNotConfirmGivesNoLock() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(10);
        b.grants(11);
        last(c.acquired).fail();
        last(a.renewed).answer(true);
        last(b.renewed).fail();
        assertNoMajority(reply, "master 2: the line is dead", "master 3: the line is dead");
        assertThat(all).allSatisfy(store -> assertThat(store.released).hasSize(1));
    }

    @Test
    void aHoldThatHasLapsedBeforeTheWriteBackDoesNotCount() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(10);
        b.grants(11);
        c.refuses("other");
        last(a.renewed).answer(true);
        last(b.renewed).answer(false);
        assertThat(reply).isCompletedWithValue(new AcquireReply.Busy("other"));
    }

    @Test
    void twoAddressesOfOneServerThatAreComparedAtTheSameTimeHaveOneVote() throws Exception {
        List<HandMadeStore> three = Stream.generate(HandMadeStore::new).limit(3).toList();
        HandMadeStore first = three.get(0);
        HandMadeStore twin = three.get(2);
        areAway(three);
        QuorumLockStore separate = open(three);
        CompletableFuture<AcquireReply> reply = ask(separate, ATTEMPT);

        CompletableFuture<Set<String>> known = CompletableFuture.completedFuture(Set.of("one"));
        CompletableFuture<Set<String>> slow = new CompletableFuture<>();
        CountDownLatch twinCompares = new CountDownLatch(2);
        twin.servers = () -> {
            twinCompares.countDown();
            return twinCompares.getCount() > 0 ? known : slow;
        };
        twin.grants(10);
        assertThat(twinCompares.await(20, TimeUnit.SECONDS)).isTrue();
        // The twin has looked at the others, and the first one looks at them before the twin has its vote.
        CountDownLatch firstCompares = new CountDownLatch(2);
        first.servers = () -> {
            firstCompares.countDown();
            return known;
        };
        first.grants(11);
        assertThat(firstCompares.await(20, TimeUnit.SECONDS)).isTrue();
        slow.complete(Set.of("one"));
        last(three.get(1).acquired).fail();
        assertNoMajority(reply, "must be different servers", "master 2: the line is dead");
        assertThat(three).allMatch(store -> store.renewed.isEmpty());
        three.forEach(store -> store.released.forEach(HandMadeStore.Question::fail));
        separate.close();
    }

    /** Its own answers do not count, but those of the others may be a majority. */
    @Test
    void aMasterWhoseServerIsNotToldKeepsNoOtherFromItsVote() throws Exception {
        List<HandMadeStore> three = Stream.generate(HandMadeStore::new).limit(3).toList();
        areAway(three);
        QuorumLockStore separate = open(three);
        CompletableFuture<AcquireReply> reply = ask(separate, ATTEMPT);
        CompletableFuture<Set<String>> never = new CompletableFuture<>();
        CompletableFuture<Boolean> asked = new CompletableFuture<>();
        three.get(0).servers = () -> {
            asked.complete(true);
            return never;
        };
        three.get(0).grants(10);
        assertThat(asked.get(20, TimeUnit.SECONDS)).isTrue();
        three.get(1).servers = () -> CompletableFuture.completedFuture(Set.of("two"));
        three.get(1).grants(11);
        three.get(2).servers = () -> CompletableFuture.completedFuture(Set.of("three"));
        three.get(2).grants(12);
        confirm(three.subList(1, 3));
        assertThat(reply.get(20, TimeUnit.SECONDS)).isEqualTo(new AcquireReply.Acquired(LEASE, List.of(12L)));
        never.completeExceptionally(new StoreException("away", null));
        close(separate, three);
    }

    /** Its address leads to another server now, and that of another master to the one that it had. */
    @Test
    void anOldAnswerOfAServerMakesNoTwinOfIt() throws Exception {
        List<HandMadeStore> three = Stream.generate(HandMadeStore::new).limit(3).toList();
        areAway(three.subList(1, 3));
        three.get(0).servers = () -> CompletableFuture.completedFuture(Set.of("one"));
        QuorumLockStore separate = open(three);
        CompletableFuture<AcquireReply> first = ask(separate, "client00000100000002");
        three.get(0).grants(10);
        three.get(2).grants(10);
        Iterator<String> told = List.of("one", "two", "two", "two").iterator();
        three.get(1).servers = () -> CompletableFuture.completedFuture(Set.of(told.next()));
        three.get(1).grants(11);
        assertNoMajority(first, "it is not known yet");

        CompletableFuture<AcquireReply> second = ask(separate, ATTEMPT);
        three.get(0).grants(10);
        three.get(1).grants(11);
        confirm(three.subList(0, 2));
        assertThat(second.get(20, TimeUnit.SECONDS)).isEqualTo(new AcquireReply.Acquired(LEASE, List.of(11L)));
        close(separate, three);
    }

    private static void areAway(List<HandMadeStore> stores) {
        stores.forEach(store -> store.servers = () -> CompletableFuture.failedFuture(new StoreException("away", null)));
    }

    private QuorumLockStore open(List<HandMadeStore> stores) {
        QuorumLockStore separate = new QuorumLockStore(stores);
        separate.open(StoredInstance.ofThisProcess("client000001", "test", ""), Duration.ofMillis(LEASE), a.listener);
        return separate;
    }

    private static CompletableFuture<AcquireReply> ask(QuorumLockStore store, String attempt) {
        return store.acquire(new AcquireCommand(List.of("x"), attempt, ClaimMode.EXCLUSIVE, LEASE, true, 1));
    }

    private static void confirm(List<HandMadeStore> stores) {
        stores.forEach(store -> {
            Awaitility.await().until(() -> !store.renewed.isEmpty());
            last(store.renewed).answer(true);
        });
    }

    private static void close(QuorumLockStore separate, List<HandMadeStore> stores) {
        stores.forEach(store -> store.acquired.forEach(HandMadeStore.Question::fail));
        stores.forEach(store -> store.released.forEach(HandMadeStore.Question::fail));
        separate.close();
    }

    @Test
    void anAttemptIsNotForgottenBetweenTwoMastersThatAnswerAtOnce() {
        List<Object> known = new ArrayList<>();
        AtomicReference<QuorumLockStore> opened = new AtomicReference<>();
        class AnswersAtOnce extends HandMadeStore {
            @Override
            public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
                known.add(opened.get().quorum().attempts.get(command.attempt()));
                return CompletableFuture.completedFuture(ReleaseReply.RELEASED);
            }
        }
        List<HandMadeStore> three = List.of(new AnswersAtOnce(), new AnswersAtOnce(), new AnswersAtOnce());
        opened.set(open(three));
        opened.get().release(new ReleaseCommand(List.of("x"), ATTEMPT, 0, 0));
        assertThat(known).hasSize(3).doesNotContainNull();
        assertThat(known.stream().distinct()).hasSize(1);
        close(opened.get(), three);
    }

    @Test
    void aMinorityGoesBackAtOnce() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(10);
        b.refuses("first");
        assertThat(reply).isNotDone();
        c.refuses("first");
        assertThat(reply).isCompletedWithValue(new AcquireReply.Busy("first"));
        assertThat(last(a.released).command()).isEqualTo(new ReleaseCommand(List.of("x"), ATTEMPT, 0, 0));
        assertThat(b.released).isEmpty();
        assertThat(c.released).isEmpty();
    }

    @Test
    void aMinorityGoesBackBeforeAMajorityHasAnswered() {
        List<HandMadeStore> five = Stream.generate(HandMadeStore::new).limit(5).toList();
        QuorumLockStore larger = new QuorumLockStore(five);
        larger.open(StoredInstance.ofThisProcess("client000001", "test", ""), Duration.ofMillis(LEASE), a.listener);
        CompletableFuture<AcquireReply> reply =
                larger.acquire(new AcquireCommand(List.of("x"), ATTEMPT, ClaimMode.EXCLUSIVE, LEASE, true, 1));
        five.get(0).grants(10);
        five.get(1).refuses("other");
        last(five.get(2).acquired).fail();
        assertThat(five.get(0).released).isEmpty();
        last(five.get(3).acquired).fail();
        assertThat(five.get(0).released).hasSize(1);
        assertThat(reply).isNotDone();
        five.get(4).refuses("other");
        assertThat(reply).isCompletedWithValue(new AcquireReply.Busy("other"));
        five.forEach(store -> store.released.forEach(HandMadeStore.Question::fail));
        larger.close();
    }

    @Test
    void aMasterThatGrantsAfterTheRefusalIsReleasedAgain() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.refuses("other");
        b.refuses("other");
        assertThat(reply).isDone();
        assertThat(c.released).hasSize(1);
        last(c.released).answer(ReleaseReply.NOT_HELD);
        c.grants(10);
        assertThat(c.released).hasSize(2);
        assertThat(acquire("x")).isCompletedWithValue(new AcquireReply.Ended());
        last(c.released).answer(ReleaseReply.RELEASED);
        assertThat(quorum.quorum().attempts.size()).isZero();
    }

    @Test
    void aMasterThatFailedIsReleasedAgainWhenItsCommandCannotArriveAnyMore() {
        acquire("x");
        a.refuses("other");
        last(c.acquired).fail();
        b.refuses("other");
        last(b.released).answer(ReleaseReply.NOT_HELD);
        last(c.released).answer(ReleaseReply.NOT_HELD);
        assertThat(quorum.quorum().attempts.size()).isEqualTo(1);
        Awaitility.await().until(() -> c.released.size() == 2);
        last(c.released).answer(ReleaseReply.RELEASED);
        Awaitility.await().until(() -> quorum.quorum().attempts.size() == 0);
    }

    @Test
    void aReleaseThatFailsIsRepeatedUntilTheMasterAnswers() {
        acquire("x");
        a.grants(1);
        b.refuses("other");
        c.refuses("other");
        for (int i = 1; i < 4; i++) {
            int sent = i;
            Awaitility.await().until(() -> a.released.size() == sent);
            last(a.released).fail();
        }
        Awaitility.await().until(() -> a.released.size() == 4);
        last(a.released).answer(ReleaseReply.RELEASED);
        Awaitility.await().until(() -> quorum.quorum().attempts.size() == 0);
    }

    @Test
    void aMasterThatDidNotAnswerLatelyIsNotWaitedForWhereTheOthersDisagree() {
        CompletableFuture<AcquireReply> slow = acquire("x");
        a.grants(1);
        b.refuses("other");
        assertThat(slow).isNotDone();
        last(c.acquired).fail();
        assertThat(slow).isCompletedWithValue(new AcquireReply.Busy("other"));

        CompletableFuture<AcquireReply> quick = quorum.acquire(
                new AcquireCommand(List.of("x"), "client00000100000002", ClaimMode.EXCLUSIVE, LEASE, true, 1));
        a.grants(1);
        b.refuses("other");
        assertThat(quick).isCompletedWithValue(new AcquireReply.Busy("other"));
        assertThat(c.released).isNotEmpty();
    }

    @Test
    void withoutAMajorityTheFailureNamesTheMasters() {
        CompletableFuture<AcquireReply> failed = acquire("x");
        a.grants(1);
        last(b.acquired).fail();
        last(c.acquired).fail();
        assertNoMajority(failed, "3 masters", "master 2: the line is dead", "master 3: the line is dead");
        assertThat(a.released).hasSize(1);
        assertThat(acquire("x")).isCompletedWithValue(new AcquireReply.Ended());
    }

    @Test
    void mastersThatSayNothingFailAfterTheCommandTimeout() {
        long begin = System.nanoTime();
        CompletableFuture<AcquireReply> silent = acquire("x");
        a.grants(1);
        assertNoMajority(silent, "master 2: no answer yet", "master 3: no answer yet");
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThanOrEqualTo(HandMadeStore.COMMAND_TIMEOUT);
        assertThat(all).allSatisfy(store -> assertThat(store.released).hasSize(1));
        b.grants(1);
        assertThat(b.released).hasSize(2);
    }

    @Test
    void aMajorityThatDisagreesIsARefusalAlsoWhereTheLastMasterSaysNothing() throws Exception {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(1);
        b.refuses("other");
        assertThat(reply.get(20, TimeUnit.SECONDS)).isEqualTo(new AcquireReply.Busy("other"));
        assertThat(a.released).hasSize(1);
        assertThat(c.released).hasSize(1);
    }

    @Test
    void mastersThatSayNothingToTheWriteBackAreAFailureAndNoRefusal() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(1);
        b.grants(2);
        last(a.renewed).answer(true);
        assertNoMajority(reply, "master 2: no answer yet", "master 3: no answer yet");
        assertThat(all).allSatisfy(store -> assertThat(store.released).hasSize(1));
    }

    @Test
    void anAttemptThatIsReleasedBeforeItIsGrantedNeverHolds() {
        CompletableFuture<AcquireReply> reply = acquire("x");
        a.grants(1);
        CompletableFuture<ReleaseReply> released = release();
        b.grants(2);
        assertThat(b.released).hasSize(2);
        all.stream().flatMap(store -> store.renewed.stream()).forEach(question -> question.answer(true));
        assertThat(reply).isCompletedWithValue(new AcquireReply.Ended());
        assertThat(released).isNotDone();
    }

    @Test
    void aReleaseIsWhatAMajoritySays() {
        CompletableFuture<ReleaseReply> released = release();
        assertThat(last(a.released).command().lastToken()).isZero();
        last(a.released).answer(ReleaseReply.ALREADY_RELEASED);
        last(b.released).answer(ReleaseReply.RELEASED);
        assertThat(released).isCompletedWithValue(ReleaseReply.RELEASED);
        last(c.released).answer(ReleaseReply.NOT_HELD);
        assertThat(quorum.quorum().attempts.size()).isZero();

        CompletableFuture<ReleaseReply> lost = release();
        last(a.released).answer(ReleaseReply.NOT_HELD);
        last(b.released).answer(ReleaseReply.NOT_HELD);
        assertThat(lost).isCompletedWithValue(ReleaseReply.NOT_HELD);

        CompletableFuture<ReleaseReply> unknown = release();
        last(a.released).answer(ReleaseReply.RELEASED);
        last(b.released).fail();
        last(c.released).fail();
        assertNoMajority(unknown, "master 2", "master 3");
    }

    @Test
    void aQuestionThatNoMajorityCanAnswerAnyMoreFailsAtOnce() {
        CompletableFuture<ReleaseReply> unknown = release();
        last(c.released).fail();
        assertThat(unknown).isNotDone();
        last(b.released).fail();
        assertThat(unknown).isCompletedExceptionally();
        assertNoMajority(
                unknown, "master 1: no answer yet", "master 2: the line is dead", "master 3: the line is dead");
    }

    @Test
    void aRenewalIsWhatAMajoritySays() {
        RenewCommand x = new RenewCommand("x", ATTEMPT, LEASE, false, 0);
        CompletableFuture<Boolean> goesOn = quorum.renew(List.of(x)).get(0);
        last(a.renewed).answer(true);
        last(b.renewed).answer(false);
        assertThat(goesOn).isNotDone();
        last(c.renewed).answer(true);
        assertThat(goesOn).isCompletedWithValue(true);

        CompletableFuture<Boolean> lost = quorum.renew(List.of(x)).get(0);
        last(a.renewed).answer(false);
        last(b.renewed).fail();
        assertThat(lost).isNotDone();
        last(c.renewed).answer(false);
        assertThat(lost).isCompletedWithValue(false);

        CompletableFuture<Boolean> unknown = quorum.renew(List.of(x)).get(0);
        last(a.renewed).answer(true);
        last(b.renewed).answer(false);
        last(c.renewed).fail();
        assertNoMajority(unknown, "master 3");
    }

    @Test
    void aLeaseLongerThanThatOfTheTemplateIsRefused() {
        List<CompletableFuture<Boolean>> answers = quorum.renew(List.of(
                new RenewCommand("x", ATTEMPT, 60_000, true, 0), new RenewCommand("y", ATTEMPT, LEASE, true, 0)));
        assertNoMajority(answers.get(0), "must be at most the lease time of the template, 3000 ms");
        assertThat(last(a.renewed).command()).extracting(RenewCommand::name).containsExactly("y");
        last(a.renewed).answer(true);
        last(b.renewed).answer(true);
        assertThat(answers.get(1)).isCompletedWithValue(true);
        assertNoMajority(
                quorum.acquire(new AcquireCommand(List.of("x"), ATTEMPT, ClaimMode.EXCLUSIVE, 60_000, true, 1)),
                "must be at most");
        assertNoMajority(quorum.release(new ReleaseCommand(List.of("x"), ATTEMPT, 0, 60_000)), "must be at most");
    }

    @Test
    void aHandOverReleasesAndThenAcquires() {
        AcquireCommand next =
                new AcquireCommand(List.of("x"), "client00000100000002", ClaimMode.EXCLUSIVE, LEASE, true, 1);
        CompletableFuture<HandOverReply> reply = quorum.handOver(new HandOverCommand(ATTEMPT, 5, next, false));
        assertThat(a.acquired).isEmpty();
        all.forEach(store -> last(store.released).answer(ReleaseReply.RELEASED));
        all.forEach(store -> store.grants(9));
        all.forEach(store -> last(store.renewed).answer(true));
        assertThat(reply).isCompletedWithValue(new HandOverReply(true, new AcquireReply.Acquired(LEASE, List.of(9L))));

        CompletableFuture<HandOverReply> lost = quorum.handOver(new HandOverCommand(ATTEMPT, 5, next, false));
        all.forEach(store -> last(store.released).answer(ReleaseReply.NOT_HELD));
        assertThat(lost).isCompletedWithValue(new HandOverReply(false, new AcquireReply.Ended()));
        assertThat(a.acquired).hasSize(1);
    }

    @Test
    void aLockIsHeldByWhomAMajorityKnows() {
        StoredLock mine = new StoredLock("x", ClaimMode.EXCLUSIVE, List.of("mine"), 7, 900, List.of());
        StoredLock other = new StoredLock("x", ClaimMode.EXCLUSIVE, List.of("other"), 9, 100, List.of());

        CompletableFuture<Optional<StoredLock>> held = quorum.inspect("x");
        last(a.inspected).answer(Optional.of(other));
        last(b.inspected).answer(Optional.of(mine));
        assertThat(held).isNotDone();
        last(c.inspected)
                .answer(Optional.of(new StoredLock("x", ClaimMode.EXCLUSIVE, List.of("mine"), 8, 800, List.of())));
        assertThat(held)
                .isCompletedWithValue(
                        Optional.of(new StoredLock("x", ClaimMode.EXCLUSIVE, List.of("mine"), 9, 800, List.of())));

        CompletableFuture<Optional<StoredLock>> free = quorum.inspect("x");
        last(a.inspected).answer(Optional.empty());
        last(b.inspected).answer(Optional.empty());
        assertThat(free).isCompletedWithValue(Optional.empty());

        CompletableFuture<Optional<StoredLock>> unknown = quorum.inspect("x");
        last(a.inspected).answer(Optional.of(mine));
        last(b.inspected).answer(Optional.empty());
        last(c.inspected).fail();
        assertNoMajority(unknown, "master 3");
    }

    @Test
    void aRevocationCountsWhereAnyMasterHadTheLock() {
        CompletableFuture<Boolean> taken = quorum.revoke("x");
        last(a.revoked).answer(true);
        assertThat(taken).isNotDone();
        last(b.revoked).answer(false);
        assertThat(taken).isCompletedWithValue(true);

        CompletableFuture<Boolean> free = quorum.revoke("x");
        last(a.revoked).answer(false);
        last(b.revoked).answer(false);
        assertThat(free).isNotDone();
        last(c.revoked).fail();
        assertThat(free).isCompletedWithValue(false);

        CompletableFuture<Boolean> unknown = quorum.revoke("x");
        last(a.revoked).answer(true);
        last(b.revoked).fail();
        last(c.revoked).fail();
        assertNoMajority(unknown, "master 2", "master 3");
    }

    @Test
    void onlyRevocationsReachTheEngine() {
        a.listener.granted(new Grant(ATTEMPT, "x", 1, 1));
        a.listener.freeIn(ATTEMPT, 1);
        a.listener.channelRestored();
        a.listener.revoked(ATTEMPT);
        assertThat(revoked).containsExactly(ATTEMPT);
    }

    @Test
    void aMasterThatThrowsIsAMasterThatFails() {
        assertNoMajority(quorum.find("*", 5), "master 1: ", "master 2: ", "master 3: ", "not open");
    }

    @Test
    void theTimesAreThoseThatHoldForAllMasters() {
        QuorumLockStore other =
                new QuorumLockStore(List.of(new HandMadeStore(), new HandMadeStore(), new HandMadeStore()));
        assertThat(other.open(
                        StoredInstance.ofThisProcess("client000002", "test", ""), Duration.ofMillis(LEASE), a.listener))
                .satisfies(traits -> {
                    assertThat(traits.commandTimeout()).isEqualTo(HandMadeStore.COMMAND_TIMEOUT);
                    assertThat(traits.pollInterval()).isEqualTo(Duration.ofMillis(500));
                    assertThat(traits.queues()).isFalse();
                });
        assertThatThrownBy(() -> other.open(
                        StoredInstance.ofThisProcess("client000002", "test", ""), Duration.ofMillis(LEASE), a.listener))
                .isInstanceOf(IllegalStateException.class);
        other.close();
    }

    @Test
    void mastersAreThreeOrMoreAndOddAndDistinct() {
        assertThatThrownBy(() -> new QuorumLockStore(List.of(a)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("three or more");
        assertThatThrownBy(() -> new QuorumLockStore(List.of(a, b, c, new HandMadeStore())))
                .hasMessageContaining("there are 4");
        assertThatThrownBy(() -> new QuorumLockStore(List.of(a, b, a))).hasMessageContaining("named twice");
        assertThatThrownBy(() -> new QuorumLockStore(all).inspect("x")).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void otherModesAreRefused() {
        for (ClaimMode mode : List.of(ClaimMode.FAIR, ClaimMode.READ, ClaimMode.WRITE)) {
            assertThatThrownBy(() -> quorum.acquire(new AcquireCommand(List.of("x"), ATTEMPT, mode, LEASE, true, 1)))
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContainingAll(mode.name(), "no", "in common", "EXCLUSIVE");
        }
    }
}
