/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.Quorum.Ending;
import io.lockkeeper.quorum.QuorumVote.Ballot;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * One question to all nodes for locks: two votes by the same rule. The first is on who grants them. The highest fencing
 * token of the majority is then written back to all who granted, and the second vote is on who has confirmed that. Only
 * after it does the attempt have the locks; otherwise everything goes back at once.
 *
 * <p>It has them for the whole lease, although a node may have granted them for less: each of the majority has
 * confirmed it with the token, later than the question was sent from which the engine counts. The engine's margin of
 * 100 ms or 1% is far more than clocks drift apart in a lease, so a majority keeps the locks for longer than the holder
 * believes.
 */
final class QuorumAcquisition {

    /** What a node that has not answered may say, or may have said. */
    private static final AcquireReply UNKNOWN = new AcquireReply.Acquired(0, List.of());

    private final AcquireCommand command;
    private final Quorum quorum;
    private final Quorum.Attempt attempt;
    private List<Ballot<AcquireReply>> replies = List.of();
    private volatile boolean decided;

    QuorumAcquisition(AcquireCommand command, Quorum quorum) {
        this.command = command;
        this.quorum = quorum;
        this.attempt = quorum.begin(command.attempt(), this);
    }

    /** Asks all nodes; the answer comes within a given time. */
    CompletableFuture<AcquireReply> start(long patienceNanos) {
        if (attempt.ending.get() != null) {
            // Its end is still being told: a lock that it got now would be taken away again.
            quorum.settle(command.attempt(), this);
            return CompletableFuture.completedFuture(new AcquireReply.Ended());
        }
        replies = quorum.each(this::ask);
        CompletableFuture<AcquireReply> granted = QuorumVote.decide(replies, this::rule);
        List<Ballot<AcquireReply>> confirmations = replies.stream()
                .map(ballot -> new Ballot<>(
                        ballot.node(),
                        ballot.reply()
                                .thenCombine(granted, (reply, best) -> confirm(ballot.node(), reply, best))
                                .thenCompose(confirmation -> confirmation)))
                .toList();
        CompletableFuture<AcquireReply> confirmed = QuorumVote.decide(confirmations, this::rule);
        Future<?> timeout = quorum.later(
                patienceNanos,
                () -> Stream.of(replies, confirmations).flatMap(List::stream).forEach(ballot -> ballot.reply()
                        .completeExceptionally(ballot.node().silence())));
        return granted.thenCompose(reply -> reply instanceof AcquireReply.Acquired ? confirmed : granted)
                // Its owner may have released it meanwhile.
                .thenApply(reply -> reply instanceof AcquireReply.Acquired && attempt.ending.get() != null
                        ? new AcquireReply.Ended()
                        : reply)
                .whenComplete((reply, failure) -> {
                    decided = true;
                    timeout.cancel(false);
                    if (!(reply instanceof AcquireReply.Acquired)) {
                        giveBack();
                    }
                    quorum.settle(command.attempt(), this);
                });
    }

    private CompletableFuture<AcquireReply> ask(QuorumNode node) {
        quorum.begin(command.attempt(), node);
        return node.ask(store -> store.acquire(command))
                .whenComplete((reply, failure) -> {
                    if (failure == null) {
                        answered(node, reply);
                    } else {
                        // The command may still be on its way, until the node refuses it as late.
                        quorum.later(quorum.commandTimeout.toNanos(), () -> answered(node, UNKNOWN));
                    }
                })
                // The time-out ends the copy alone: what the node says after it is not lost.
                .copy();
    }

    /** Gives back what comes after the end. */
    private void answered(QuorumNode node, AcquireReply reply) {
        Ending ending = attempt.ending.get();
        if (ending != null && reply instanceof AcquireReply.Acquired) {
            quorum.release(node, ending);
        }
        quorum.settle(command.attempt(), node);
    }

    /** Has a grant confirmed; not one that comes when all is decided, unless it is for less than the whole lease. */
    private CompletableFuture<AcquireReply> confirm(QuorumNode node, AcquireReply reply, AcquireReply best) {
        boolean needed = reply instanceof AcquireReply.Acquired grant
                && attempt.ending.get() == null
                && (!decided || grant.leaseMillis() < command.leaseMillis());
        return needed && best instanceof AcquireReply.Acquired highest
                ? writeBack(node, highest)
                : CompletableFuture.completedFuture(reply);
    }

    /** Writes the token, and the whole lease, to a node that has granted the locks. */
    private CompletableFuture<AcquireReply> writeBack(QuorumNode node, AcquireReply.Acquired highest) {
        List<RenewCommand> commands = IntStream.range(0, command.names().size())
                .mapToObj(i -> new RenewCommand(
                        command.names().get(i),
                        command.attempt(),
                        command.leaseMillis(),
                        false,
                        highest.firstTokens().get(i)))
                .toList();
        List<CompletableFuture<Boolean>> answers = node.askAll(commands.size(), store -> store.renew(commands));
        return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
                .thenApply(done ->
                        answers.stream().allMatch(CompletableFuture::join) ? highest : new AcquireReply.Busy(""));
    }

    /** Decides whether a majority says yes. Where one has answered, but not yes, silent nodes are not waited for. */
    private Optional<AcquireReply> rule(QuorumVote<AcquireReply> vote) {
        List<AcquireReply.Acquired> grants =
                answers(vote, AcquireReply.Acquired.class).toList();
        if (grants.size() >= vote.majority) {
            List<Long> tokens = IntStream.range(0, command.names().size())
                    .mapToObj(i -> grants.stream()
                            .map(grant -> grant.firstTokens().get(i))
                            .max(Long::compare)
                            .orElseThrow())
                    .toList();
            return Optional.of(new AcquireReply.Acquired(command.leaseMillis(), tokens));
        }
        boolean impossible = grants.size() + vote.outstanding.size() < vote.majority;
        if (impossible) {
            giveBack();
        }
        return vote.isAnswered() && (impossible || vote.outstanding.stream().allMatch(node -> node.silent))
                ? Optional.of(refusal(vote))
                : Optional.empty();
    }

    /** Returns what the caller is told where a majority answered, but did not grant: the holder that most name. */
    private static AcquireReply refusal(QuorumVote<AcquireReply> vote) {
        if (answers(vote, AcquireReply.Ended.class).findAny().isPresent()) {
            return new AcquireReply.Ended();
        }
        Stream<AcquireReply.Busy> named = answers(vote, AcquireReply.Busy.class)
                .filter(busy -> !busy.holder().isEmpty());
        return QuorumVote.most(named, AcquireReply.Busy::holder).stream()
                .findFirst()
                .orElse(new AcquireReply.Busy(""));
    }

    private static <T extends AcquireReply> Stream<T> answers(QuorumVote<AcquireReply> vote, Class<T> type) {
        return vote.answers.stream().filter(type::isInstance).map(type::cast);
    }

    /** Gives back at all nodes at once what there is or may come; one that said no has nothing of this attempt. */
    private void giveBack() {
        Ending ending = new Ending(new ReleaseCommand(command.names(), command.attempt(), 0, 0), System.nanoTime());
        if (attempt.ending.compareAndSet(null, ending)) {
            replies.stream()
                    .filter(ballot ->
                            ballot.reply().exceptionally(failure -> UNKNOWN).getNow(UNKNOWN)
                                    instanceof AcquireReply.Acquired)
                    .forEach(ballot -> quorum.release(ballot.node(), ending));
        }
    }
}
