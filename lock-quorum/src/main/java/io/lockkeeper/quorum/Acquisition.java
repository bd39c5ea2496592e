/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.AcquisitionVotes.Standing;
import io.lockkeeper.quorum.Attempts.Attempt;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One question to all masters for locks. Once a majority has granted them, the highest of its fencing tokens is written
 * back to a majority, and only then has the attempt the locks; otherwise everything goes back at once.
 *
 * <pre>
 *   ASKING --majority grants--> WRITING_BACK --majority confirms--> HELD
 *      +-------------majority impossible, or too late---------------+--> GIVEN_BACK
 * </pre>
 */
final class Acquisition {

    private enum Phase {
        ASKING,
        WRITING_BACK,
        HELD,
        GIVEN_BACK
    }

    private final AcquireCommand command;
    private final Quorum quorum;
    private final Attempts attempts;
    private final Releases releases;
    private final Attempt attempt;
    private final CompletableFuture<AcquireReply> result = new CompletableFuture<>();

    /** Guarded by this, as all that follows. */
    private final AcquisitionVotes votes;

    private Phase phase = Phase.ASKING;
    private List<Long> tokens = List.of();

    /** What is to be done when the monitor is free again. */
    private List<Runnable> effects = new ArrayList<>();

    Acquisition(AcquireCommand command, Quorum quorum, Attempts attempts, Releases releases) {
        this.command = command;
        this.quorum = quorum;
        this.attempts = attempts;
        this.releases = releases;
        this.attempt = attempts.begin(command.attempt());
        this.votes = new AcquisitionVotes(quorum.masters());
    }

    /** Asks all masters; the answer comes within a given time. */
    CompletableFuture<AcquireReply> start(long patienceNanos) {
        if (attempt.ending() != null) {
            // Its end is still being told: a lock that it got now would be taken away again.
            attempts.done(attempt);
            return CompletableFuture.completedFuture(new AcquireReply.Ended());
        }
        Runnable timeout = quorum.timer().after(patienceNanos, () -> decide(this::expire));
        result.whenComplete((reply, failure) -> timeout.run());
        for (Master master : quorum.masters()) {
            attempts.begin(attempt.id);
            master.beginDuty();
            master.acquire(command).whenComplete((reply, failure) -> answered(master, reply, failure));
        }
        attempts.done(attempt);
        return result;
    }

    /** Changes the state under the monitor, and then has done what follows from it. */
    private void decide(Runnable change) {
        List<Runnable> due;
        synchronized (this) {
            change.run();
            conclude();
            due = effects;
            effects = new ArrayList<>();
        }
        due.forEach(Runnable::run);
    }

    private void answered(Master master, @Nullable AcquireReply reply, @Nullable Throwable failure) {
        decide(() -> {
            if (reply == null) {
                votes.failed(master, failure);
            } else {
                votes.answered(master, reply);
            }
            if (reply instanceof AcquireReply.Acquired grant) {
                granted(master, grant);
            }
        });
        if (reply == null) {
            // The command may still be on its way, until the master refuses it as late.
            quorum.timer().after(quorum.commandTimeout().toNanos(), () -> {
                releaseIfEnded(master);
                attempts.done(attempt);
            });
        } else {
            attempts.done(attempt);
        }
        master.endDuty();
    }

    private void granted(Master master, AcquireReply.Acquired grant) {
        boolean late = phase == Phase.HELD && grant.leaseMillis() < command.leaseMillis();
        if (attempt.ending() != null) {
            effects.add(() -> releaseIfEnded(master));
        } else if (phase == Phase.WRITING_BACK || late) {
            effects.add(() -> writeBack(master));
        }
    }

    private void releaseIfEnded(Master master) {
        Ending ending = attempt.ending();
        if (ending != null) {
            releases.send(master, attempt, ending);
        }
    }

    private void conclude() {
        if (phase == Phase.ASKING && votes.isGranted()) {
            phase = Phase.WRITING_BACK;
            tokens = votes.highestTokens();
            votes.granting().forEach(master -> effects.add(() -> writeBack(master)));
        } else if (phase == Phase.WRITING_BACK && votes.isConfirmed()) {
            phase = Phase.HELD;
            effects.add(this::hold);
        } else if (isUndecided() && votes.isHopeless()) {
            giveBack();
        }
        if (phase == Phase.GIVEN_BACK && !result.isDone()) {
            AcquireReply refusal = votes.refusal();
            StoreException failure = votes.failure();
            if (refusal != null) {
                effects.add(() -> result.complete(refusal));
            } else if (failure != null) {
                effects.add(() -> result.completeExceptionally(failure));
            }
        }
    }

    private boolean isUndecided() {
        return phase == Phase.ASKING || phase == Phase.WRITING_BACK;
    }

    /**
     * The attempt has the locks for the whole lease, although a master may have granted them for less: each of the majority
     * has confirmed it with the token, later than the question was sent from which the engine counts. The engine's margin
     * of 100 ms or 1% is far more than clocks drift apart in a lease, so every master of the majority keeps the locks for
     * longer than the holder believes in them.
     */
    private void hold() {
        AcquireReply reply = attempt.ending() == null
                ? new AcquireReply.Acquired(command.leaseMillis(), tokens)
                : new AcquireReply.Ended();
        result.complete(reply);
    }

    /** Writes the token, and the whole lease, to a master that has granted the locks. */
    private void writeBack(Master master) {
        List<RenewCommand> commands = IntStream.range(0, tokens.size())
                .mapToObj(i -> new RenewCommand(
                        command.names().get(i), command.attempt(), command.leaseMillis(), false, tokens.get(i)))
                .toList();
        List<CompletableFuture<Boolean>> answers = master.renew(commands);
        CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
                .whenComplete((done, failure) -> decide(() -> {
                    if (failure != null) {
                        votes.failed(master, failure);
                    } else {
                        boolean held = answers.stream().allMatch(CompletableFuture::join);
                        votes.stands(master, held ? Standing.CONFIRMED : Standing.REFUSED);
                    }
                }));
    }

    private void expire() {
        if (phase == Phase.HELD) {
            return;
        }
        if (phase == Phase.WRITING_BACK) {
            votes.forgetUnconfirmed();
        }
        if (isUndecided()) {
            giveBack();
        }
        if (votes.refusal() == null) {
            StoreException silence = votes.silence();
            effects.add(() -> result.completeExceptionally(silence));
        }
    }

    /** Gives back at all masters at once what there is or may come; one that said no has nothing of this attempt. */
    private void giveBack() {
        phase = Phase.GIVEN_BACK;
        long now = System.nanoTime();
        if (attempt.end(new Ending(command.names(), command.attempt(), now, now + quorum.longestTraceNanos()))) {
            votes.withoutRefusal().forEach(master -> effects.add(() -> releaseIfEnded(master)));
        }
    }
}
