/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One question to all nodes for locks. Once a majority has granted them, the highest of its fencing tokens is written back
 * to a majority, and only then has the attempt the locks; otherwise everything goes back at once.
 *
 * <pre>
 *   ASKING --majority grants--> WRITING_BACK --majority confirms--> HELD
 *      +-------------majority impossible, or too late---------------+--> GIVEN_BACK
 * </pre>
 */
final class QuorumAcquisition {

    private enum Phase {
        ASKING,
        WRITING_BACK,
        HELD,
        GIVEN_BACK
    }

    private enum Standing {
        /** The node has not answered. */
        OPEN,
        /** It has granted the locks. */
        GRANTED,
        /** It has granted the locks, and has the token that was chosen. */
        CONFIRMED,
        /** It keeps the locks for another attempt, or has ended the attempt. */
        REFUSED,
        /** It failed. */
        FAILED
    }

    /** How one node stands to the acquisition. */
    private static final class Ballot {

        private final QuorumNode node;
        private Standing standing = Standing.OPEN;
        private @Nullable AcquireReply reply;
        private @Nullable Throwable failure;

        private Ballot(QuorumNode node) {
            this.node = node;
        }

        private boolean isGrant() {
            return standing == Standing.GRANTED || standing == Standing.CONFIRMED;
        }

        private boolean isAnswer() {
            return standing != Standing.OPEN && standing != Standing.FAILED;
        }

        private void fail(Throwable fault) {
            standing = Standing.FAILED;
            failure = fault;
        }

        /** Returns whether the node has never been reached, and so may be there soon. */
        private boolean isNotReady() {
            return failure == null
                    ? standing == Standing.OPEN && !node.reached
                    : failure instanceof StoreNotReadyException || failure.getCause() instanceof StoreNotReadyException;
        }

        private String fault() {
            return node.describe(failure);
        }
    }

    private final AcquireCommand command;
    private final Quorum quorum;
    private final Quorum.Attempt attempt;
    private final CompletableFuture<AcquireReply> result = new CompletableFuture<>();
    private final int majority;

    /** Guarded by this, as all that follows. */
    private final List<Ballot> ballots;

    private Phase phase = Phase.ASKING;
    private List<Long> tokens = List.of();

    /** What is to be done when the monitor is free again. */
    private List<Runnable> effects = new ArrayList<>();

    QuorumAcquisition(AcquireCommand command, Quorum quorum) {
        this.command = command;
        this.quorum = quorum;
        this.attempt = quorum.begin(command.attempt());
        this.ballots = quorum.nodes.stream().map(Ballot::new).toList();
        this.majority = QuorumVote.majorityOf(ballots.size());
    }

    /** Asks all nodes; the answer comes within a given time. */
    CompletableFuture<AcquireReply> start(long patienceNanos) {
        if (attempt.ending() != null) {
            // Its end is still being told: a lock that it got now would be taken away again.
            quorum.settle(attempt);
            return CompletableFuture.completedFuture(new AcquireReply.Ended());
        }
        Runnable timeout = quorum.later(patienceNanos, () -> decide(this::expire));
        result.whenComplete((reply, failure) -> timeout.run());
        for (Ballot ballot : ballots) {
            quorum.begin(attempt.id);
            ballot.node.beginDuty();
            ballot.node
                    .ask(store -> store.acquire(command))
                    .whenComplete((reply, failure) -> answered(ballot, reply, failure));
        }
        quorum.settle(attempt);
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

    private void answered(Ballot ballot, @Nullable AcquireReply reply, @Nullable Throwable failure) {
        decide(() -> {
            if (reply == null) {
                ballot.fail(Objects.requireNonNull(failure));
                return;
            }
            ballot.reply = reply;
            ballot.standing = reply instanceof AcquireReply.Acquired ? Standing.GRANTED : Standing.REFUSED;
            if (reply instanceof AcquireReply.Acquired grant) {
                granted(ballot, grant);
            }
        });
        if (reply == null) {
            // The command may still be on its way, until the node refuses it as late.
            quorum.later(quorum.commandTimeout.toNanos(), () -> {
                releaseIfEnded(ballot);
                quorum.settle(attempt);
            });
        } else {
            quorum.settle(attempt);
        }
        ballot.node.endDuty();
    }

    private void granted(Ballot ballot, AcquireReply.Acquired grant) {
        boolean late = phase == Phase.HELD && grant.leaseMillis() < command.leaseMillis();
        if (attempt.ending() != null) {
            effects.add(() -> releaseIfEnded(ballot));
        } else if (phase == Phase.WRITING_BACK || late) {
            effects.add(() -> writeBack(ballot));
        }
    }

    private void releaseIfEnded(Ballot ballot) {
        Ending ending = attempt.ending();
        if (ending != null) {
            quorum.release(ballot.node, attempt, ending);
        }
    }

    private void conclude() {
        if (phase == Phase.ASKING && count(Ballot::isGrant) >= majority) {
            phase = Phase.WRITING_BACK;
            tokens = highestTokens();
            with(Ballot::isGrant).forEach(ballot -> effects.add(() -> writeBack(ballot)));
        } else if (phase == Phase.WRITING_BACK && count(is(Standing.CONFIRMED)) >= majority) {
            phase = Phase.HELD;
            effects.add(this::hold);
        } else if (isUndecided() && isHopeless()) {
            giveBack();
        }
        if (phase == Phase.GIVEN_BACK && !result.isDone()) {
            if (isAnswered()) {
                AcquireReply refusal = refusal();
                effects.add(() -> result.complete(refusal));
            } else if (count(is(Standing.FAILED)) > ballots.size() - majority) {
                StoreException failure = noMajority(with(is(Standing.FAILED)));
                effects.add(() -> result.completeExceptionally(failure));
            }
        }
    }

    private boolean isUndecided() {
        return phase == Phase.ASKING || phase == Phase.WRITING_BACK;
    }

    /**
     * The attempt has the locks for the whole lease, although a node may have granted them for less: each of the majority
     * has confirmed it with the token, later than the question was sent from which the engine counts. The engine's margin
     * of 100 ms or 1% is far more than clocks drift apart in a lease, so every node of the majority keeps the locks for
     * longer than the holder believes in them.
     */
    private void hold() {
        result.complete(
                attempt.ending() == null
                        ? new AcquireReply.Acquired(command.leaseMillis(), tokens)
                        : new AcquireReply.Ended());
    }

    /** Writes the token, and the whole lease, to a node that has granted the locks. */
    private void writeBack(Ballot ballot) {
        List<RenewCommand> commands = IntStream.range(0, tokens.size())
                .mapToObj(i -> new RenewCommand(
                        command.names().get(i), command.attempt(), command.leaseMillis(), false, tokens.get(i)))
                .toList();
        List<CompletableFuture<Boolean>> answers = ballot.node.renew(commands);
        CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
                .whenComplete((done, failure) -> decide(() -> {
                    if (failure != null) {
                        ballot.fail(failure);
                    } else {
                        boolean held = answers.stream().allMatch(CompletableFuture::join);
                        ballot.standing = held ? Standing.CONFIRMED : Standing.REFUSED;
                    }
                }));
    }

    private void expire() {
        if (phase == Phase.HELD) {
            return;
        }
        if (phase == Phase.WRITING_BACK) {
            // A node that has not answered to the write-back in time has not answered, whatever it had granted before.
            with(is(Standing.GRANTED)).forEach(ballot -> ballot.standing = Standing.OPEN);
        }
        if (isUndecided()) {
            giveBack();
        }
        if (!isAnswered()) {
            StoreException silence = noMajority(Stream.of(Standing.FAILED, Standing.OPEN)
                    .flatMap(standing -> with(is(standing)).stream())
                    .toList());
            effects.add(() -> result.completeExceptionally(silence));
        }
    }

    /** Gives back at all nodes at once what there is or may come; one that said no has nothing of this attempt. */
    private void giveBack() {
        phase = Phase.GIVEN_BACK;
        if (attempt.end(new Ending(command.names(), command.attempt(), System.nanoTime(), quorum.traceEnd()))) {
            with(is(Standing.REFUSED).negate()).forEach(ballot -> effects.add(() -> releaseIfEnded(ballot)));
        }
    }

    // ---- counting ----

    private static Predicate<Ballot> is(Standing standing) {
        return ballot -> ballot.standing == standing;
    }

    private List<Ballot> with(Predicate<Ballot> what) {
        return ballots.stream().filter(what).toList();
    }

    private long count(Predicate<Ballot> what) {
        return ballots.stream().filter(what).count();
    }

    private boolean isAnswered() {
        return count(Ballot::isAnswer) >= majority;
    }

    /**
     * Returns whether a majority cannot be had any more, or only with nodes that did not answer lately: where a majority
     * has answered, and is not of one mind, those are not waited for.
     */
    private boolean isHopeless() {
        long grants = count(Ballot::isGrant);
        List<Ballot> open = with(is(Standing.OPEN));
        return grants < majority
                && (grants + open.size() < majority
                        || (isAnswered() && open.stream().allMatch(ballot -> ballot.node.silent)));
    }

    private <T extends AcquireReply> Stream<T> replies(Class<T> type) {
        return ballots.stream()
                .map(ballot -> ballot.reply)
                .filter(type::isInstance)
                .map(type::cast);
    }

    /** Returns for each lock the highest of the tokens that were granted. */
    private List<Long> highestTokens() {
        return IntStream.range(0, command.names().size())
                .mapToObj(i -> replies(AcquireReply.Acquired.class)
                        .map(grant -> grant.firstTokens().get(i))
                        .max(Long::compare)
                        .orElseThrow())
                .toList();
    }

    /** Returns what the caller is told where a majority has answered, but not granted: the holder that most nodes name. */
    private AcquireReply refusal() {
        if (replies(AcquireReply.Ended.class).findAny().isPresent()) {
            return new AcquireReply.Ended();
        }
        Map<String, Long> known = replies(AcquireReply.Busy.class)
                .map(AcquireReply.Busy::holder)
                .filter(holder -> !holder.isEmpty())
                .collect(Collectors.groupingBy(Function.identity(), LinkedHashMap::new, Collectors.counting()));
        return new AcquireReply.Busy(known.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse(""));
    }

    /** Nodes that have never been reached may be there soon: a caller who waits may ask again where these would do. */
    private StoreException noMajority(List<Ballot> without) {
        StoreException failure = QuorumVote.noMajority(
                ballots.size(), without.stream().map(Ballot::fault).toList());
        long notReady = count(Ballot::isNotReady);
        return notReady > 0 && count(Ballot::isAnswer) + notReady >= majority
                ? new StoreNotReadyException(Objects.requireNonNull(failure.getMessage()), failure)
                : failure;
    }
}
