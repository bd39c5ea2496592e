/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How often is tried again, after what time, and when not any more. */
class RetriesTest {

    private static final Duration DELAY = Duration.ofMillis(100);

    private final CohortFixture fixture = new CohortFixture();
    private final ManualTime time = fixture.time;
    private final List<CompletableFuture<HeldLease>> attempts = new ArrayList<>();

    @Test
    void aCallerTriesOnceAndThenAsOftenAsItAskedFor() {
        CompletableFuture<HeldLease> outcome = retries(2);
        for (int made = 1; made <= 3; made++) {
            assertThat(attempts).hasSize(made);
            assertThat(outcome).isNotDone();
            busy();
            time.pass(DELAY.multipliedBy(2));
        }

        assertThat(attempts).hasSize(3);
        assertThat(outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(LockNotAcquiredException.class, refusal -> {
                    assertThat(refusal.attempts()).isEqualTo(3);
                    assertThat(refusal.waited()).isBetween(DELAY, DELAY.multipliedBy(3));
                });
        assertThat(time.pending()).isZero();
    }

    @Test
    void theDelayVariesByUpToAHalfInBothDirections() {
        retries(500);
        List<Duration> delays = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            busy();
            delays.add(time.nextDelay());
            time.pass(time.nextDelay());
        }

        assertThat(delays).allMatch(delay -> delay.compareTo(DELAY.dividedBy(2)) >= 0);
        assertThat(delays)
                .allMatch(delay -> delay.compareTo(DELAY.multipliedBy(3).dividedBy(2)) < 0);
        assertThat(delays).anyMatch(delay -> delay.toMillis() < 70).anyMatch(delay -> delay.toMillis() > 130);
    }

    @Test
    void anOverlongDelayIsWaitedFor() {
        CompletableFuture<HeldLease> outcome =
                retries(CohortFixture.REQUEST.withRetries(1, Duration.ofSeconds(Long.MAX_VALUE)));
        busy();

        assertThat(outcome).isNotDone();
        assertThat(time.nextDelay()).isGreaterThan(Duration.ofDays(10_000));
    }

    @Test
    void aLeaseKnowsHowOftenItsCallerTried() {
        CompletableFuture<HeldLease> outcome = retries(5);
        busy();
        time.pass(DELAY.multipliedBy(2));

        attempts.get(1).complete(fixture.holds(100));

        assertThat(outcome).isCompleted();
        assertThat(outcome.join().events().attempts()).isEqualTo(2);
    }

    @Test
    void aFailingStoreEndsTheRetries() {
        CompletableFuture<HeldLease> outcome = retries(5);

        attempts.get(0).completeExceptionally(new LockStoreException("no answer", null));

        assertThat(outcome)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class);
        assertThat(time.pending()).isZero();
    }

    @Test
    void aCallerWhoCancelsDuringAnAttemptCancelsIt() {
        CompletableFuture<HeldLease> outcome = retries(5);

        outcome.cancel(false);

        assertThat(attempts.get(0)).isCancelled();
        time.pass(DELAY.multipliedBy(2));
        assertThat(attempts).hasSize(1);
    }

    @Test
    void aCallerWhoCancelsBetweenTwoAttemptsDoesNotTryAgain() {
        CompletableFuture<HeldLease> outcome = retries(5);
        busy();

        outcome.cancel(false);
        time.pass(DELAY.multipliedBy(2));

        assertThat(attempts).hasSize(1);
    }

    @Test
    void aLeaseThatNobodyReceivesIsReleased() {
        HeldLease lease = fixture.holds(100);
        CompletableFuture<HeldLease> deaf = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterruptIfRunning) {
                return false;
            }
        };
        CompletableFuture<HeldLease> outcome = new Retries(request(1), time, Runnable::run, attempt -> deaf).begin();
        outcome.cancel(false);

        deaf.complete(lease);

        assertThat(lease.isHeld()).isFalse();
        assertThat(fixture.port.releases).hasSize(1);
    }

    private CompletableFuture<HeldLease> retries(int count) {
        return retries(request(count));
    }

    private CompletableFuture<HeldLease> retries(LockRequest request) {
        return new Retries(request, time, Runnable::run, attempt -> {
                    attempts.add(new CompletableFuture<>());
                    return RecordingStore.last(attempts);
                })
                .begin();
    }

    private static LockRequest request(int count) {
        return CohortFixture.REQUEST.withRetries(count, DELAY);
    }

    private void busy() {
        RecordingStore.last(attempts)
                .completeExceptionally(new LockNotAcquiredException(List.of("stock"), Duration.ZERO, 1, null));
    }
}
