/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockListener.Way;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A local lock without anything around it: a test makes the events, and sees what is to be done. */
final class LocalLockFixture {

    final StoreException failure = new StoreException("no answer within 2 s", null);

    final ManualTime time = new ManualTime();
    final LocalLock lock;

    /** When the store answered last, to whatever question; long before the test unless set. */
    long heardNanos;

    /** Whether an error comes where another attempt is made. */
    boolean noMoreAttempts;

    private int attempts;
    private @Nullable AcquireAttempt asked;

    LocalLockFixture() {
        this(EngineFixture.REQUEST.names(), EngineFixture.SPEC);
    }

    LocalLockFixture(List<String> names, AcquireSpec spec) {
        LeasePolicy policy = new LeasePolicy(
                5_000, EngineFixture.MAX_PASS_TIME.toNanos(), false, (origin, bound) -> 0, this::attempt, null);
        lock = new LocalLock(names, spec, policy);
    }

    private AcquireSpec.AttemptId attempt() {
        if (noMoreAttempts) {
            throw new InternalError("as the test wants it");
        }
        return new AcquireSpec.AttemptId("attempt", ++attempts);
    }

    /** Returns a lock of readers, who hold it together. */
    static LocalLockFixture ofReaders() {
        return new LocalLockFixture(
                EngineFixture.REQUEST.names(), AcquireSpec.renewed(ClaimMode.READ, EngineFixture.LEASE_MILLIS));
    }

    /** Returns the lock of a fair caller who has to wait for its turn to ask. */
    static LocalLockFixture gated() {
        LockRequest fair = EngineFixture.REQUEST.withMode(LockMode.FAIR);
        return new LocalLockFixture(fair.names(), AcquireSpec.single(fair, EngineFixture.LEASE_MILLIS));
    }

    // ---- callers ----

    PendingRequest caller(Duration waitTime) {
        return caller(waitTime, null);
    }

    /** Returns one whose thread goes on meanwhile. */
    PendingRequest goesOn(Duration waitTime) {
        return caller(waitTime, new CompletableFuture<>());
    }

    /** Returns one for whom the lock stays taken for a minimum time. */
    PendingRequest keeps(Duration minHoldTime) {
        return caller(EngineFixture.REQUEST.withWaitTime(EngineFixture.FOREVER).withMinHoldTime(minHoldTime), null);
    }

    private PendingRequest caller(Duration waitTime, @Nullable CompletableFuture<?> result) {
        return caller(EngineFixture.REQUEST.withWaitTime(waitTime), result);
    }

    private PendingRequest caller(LockRequest request, @Nullable CompletableFuture<?> result) {
        return new PendingRequest(0, request, time.now(), false, result, RecordingStore.TRAITS.commandTimeout());
    }

    /** Returns one who waits where the lock is held, without limit. */
    PendingRequest caller() {
        return caller(EngineFixture.FOREVER);
    }

    /** Returns one who wants an answer at once. */
    PendingRequest impatient() {
        return caller(Duration.ZERO);
    }

    /** Returns what is to be done for a caller; null: the lock takes no callers any more. */
    @Nullable
    List<LockAction> enter(PendingRequest caller) {
        return heard(lock.enter(caller, time.now()));
    }

    /** A caller comes who waits without limit. */
    PendingRequest enters() {
        PendingRequest caller = caller();
        assertThat(enter(caller)).isNotNull();
        return caller;
    }

    /** A caller comes who wants an answer at once. */
    PendingRequest tries() {
        PendingRequest caller = impatient();
        assertThat(enter(caller)).isNotNull();
        return caller;
    }

    /** A caller comes and has the lock at once. */
    StoreHold holds(long firstToken) {
        enters();
        acquired(firstToken);
        return hold();
    }

    /** A caller comes, waits behind another instance, and has the lock by a grant. */
    StoreHold isGranted(long firstToken) {
        enters();
        queued();
        granted(grant(firstToken));
        return hold();
    }

    List<LockAction> timedOut(PendingRequest caller) {
        return heard(lock.timedOut(caller, time.now(), new PendingAnswers.Heard(heardNanos, 0)));
    }

    List<LockAction> turn() {
        return heard(lock.turn(time.now()));
    }

    // ---- the store ----

    /** Returns the attempt that asked last. */
    AcquireAttempt asked() {
        return Objects.requireNonNull(asked);
    }

    List<LockAction> replied(AcquireReply reply) {
        return replied(asked(), reply);
    }

    List<LockAction> replied(AcquireAttempt attempt, AcquireReply reply) {
        ClockReading unanswered = attempt.asked;
        ClockReading sent = unanswered == null ? time.now() : unanswered;
        return heard(lock.replied(attempt, sent, reply, time.now()));
    }

    List<LockAction> acquired(long firstToken) {
        return replied(EngineFixture.acquiredReply(firstToken));
    }

    List<LockAction> queued() {
        return replied(new AcquireReply.Queued("other1", 20_000, EngineFixture.storeMillis(time)));
    }

    List<LockAction> busy() {
        return replied(new AcquireReply.Busy("other1"));
    }

    List<LockAction> failed() {
        return failed(asked());
    }

    List<LockAction> failed(AcquireAttempt attempt) {
        return heard(lock.failed(attempt, failure, time.now()));
    }

    /** Returns after how many milliseconds something has its time. */
    long dueIn() {
        return lock.dueNanos() == ClockReading.NEVER
                ? Long.MAX_VALUE
                : TimeUnit.NANOSECONDS.toMillis(lock.dueNanos() - time.nanoTime());
    }

    /** The next time comes. */
    List<LockAction> pollDue() {
        time.pass(Duration.ofMillis(dueIn()));
        return due();
    }

    List<LockAction> due() {
        return heard(lock.due(time.now(), new PendingAnswers.Heard(heardNanos, 0)));
    }

    List<LockAction> freeIn(String attempt, long millis) {
        return heard(lock.freeIn(attempt, millis, time.now()));
    }

    List<LockAction> messagesMissed() {
        return heard(lock.messagesMissed(time.now()));
    }

    Grant grant(long firstToken) {
        return new Grant(
                asked().id.toString(),
                "stock",
                firstToken,
                EngineFixture.storeMillis(time) + EngineFixture.GRANT_MILLIS);
    }

    List<LockAction> granted(Grant grant) {
        return heard(lock.granted(grant, time.now()));
    }

    List<LockAction> revoked(String attempt) {
        return heard(lock.revoked(attempt, time.now()));
    }

    // ---- holds ----

    StoreHold hold() {
        return Objects.requireNonNull(lock.hold());
    }

    /** The holder, or one of the readers, releases the lock. */
    List<LockAction> released() {
        return Objects.requireNonNull(released(hold()));
    }

    @Nullable
    List<LockAction> released(StoreHold hold) {
        return heard(lock.released(hold, 0, time.now()));
    }

    @Nullable
    List<LockAction> lost(StoreHold hold) {
        return heard(lock.lost(hold, "the store says that it ended", time.now()));
    }

    /** One local caller after the other comes, and has the lock after the one before. */
    void passesOn(int times) {
        for (int pass = 0; pass < times; pass++) {
            PendingRequest next = enters();
            StoreHold hold = hold();
            List<LockAction> actions = released();
            assertThat(actions).containsExactly(grant(next, hold, hold.token(), Way.PASS));
        }
    }

    /** A hold whose passes were used up while no one else waited is handed over to another local caller. */
    void handsOverToItself(long firstToken) {
        holds(100);
        passesOn(EngineFixture.MAX_PASSES);
        enters();
        released();
        acquired(firstToken);
    }

    static LockAction grant(PendingRequest caller, StoreHold hold, long token, Way path) {
        return new LockAction.Grant(caller, hold, token, path);
    }

    /** Keeps which attempt has asked, or will. */
    private <T extends @Nullable List<LockAction>> T heard(T actions) {
        AcquireAttempt latest = lock.attempt(new AcquireSpec.AttemptId("attempt", attempts).toString());
        if (latest != null) {
            asked = latest;
        }
        return actions;
    }
}
