/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Attempts.Attempt;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Ends attempts at all masters: at once where they answer, in the background where they do not. */
final class Releases {

    private final Quorum quorum;
    private final Attempts attempts;
    private final Map<Master, OwedReleases> owed = new LinkedHashMap<>();

    Releases(Quorum quorum, Attempts attempts) {
        this.quorum = quorum;
        this.attempts = attempts;
        quorum.masters().forEach(master -> owed.put(master, new OwedReleases(master, quorum.timer())));
    }

    /**
     * Releases at all masters. The hold is over where a majority says so, and was lost where so many do not know of it that
     * no majority had it.
     */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        Attempt attempt = attempts.begin(command.attempt());
        Ending ending = new Ending(
                command.names(),
                command.attempt(),
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(command.keepMillis()),
                System.nanoTime() + quorum.longestTraceNanos());
        attempt.end(ending);
        List<CompletableFuture<ReleaseReply>> replies = new ArrayList<>();
        quorum.masters().forEach(master -> replies.add(send(master, attempt, ending)));
        attempts.done(attempt);
        return quorum.decide(replies, Releases::outcome);
    }

    /** Ends an attempt at one master, now and again until it has heard of it. */
    CompletableFuture<ReleaseReply> send(Master master, Attempt attempt, Ending ending) {
        attempts.begin(attempt.id);
        master.beginDuty();
        Runnable settled = () -> {
            attempts.done(attempt);
            master.endDuty();
        };
        CompletableFuture<ReleaseReply> reply = master.release(ending.command());
        reply.whenComplete((answer, failure) -> {
            if (failure == null) {
                settled.run();
            } else {
                Objects.requireNonNull(owed.get(master)).add(ending, settled);
            }
        });
        return reply;
    }

    static Optional<ReleaseReply> outcome(Tally<ReleaseReply> tally) {
        if (tally.isCarried(Releases::wasHeld)) {
            return Optional.of(
                    tally.answers().contains(ReleaseReply.RELEASED)
                            ? ReleaseReply.RELEASED
                            : ReleaseReply.ALREADY_RELEASED);
        }
        return tally.isRefuted(Releases::wasHeld) ? Optional.of(ReleaseReply.NOT_HELD) : Optional.empty();
    }

    private static boolean wasHeld(ReleaseReply reply) {
        return reply == ReleaseReply.RELEASED || reply == ReleaseReply.ALREADY_RELEASED;
    }
}
