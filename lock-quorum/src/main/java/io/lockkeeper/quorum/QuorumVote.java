/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The answers of all nodes to one question, as far as they are there. Guarded by itself. */
final class QuorumVote<T> {

    private final int nodes;
    private final List<T> answers = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    private QuorumVote(int nodes) {
        this.nodes = nodes;
    }

    /**
     * Decides by the nodes' answers as soon as the rule can; else it fails and names the nodes that failed. The rule gives
     * nothing where it needs more answers, and is not asked again once it has decided.
     */
    static <T, R> CompletableFuture<R> decide(
            List<QuorumNode> nodes, List<CompletableFuture<T>> answers, Function<QuorumVote<T>, Optional<R>> rule) {
        QuorumVote<T> vote = new QuorumVote<>(nodes.size());
        CompletableFuture<R> decision = new CompletableFuture<>();
        IntStream.range(0, nodes.size()).forEach(i -> answers.get(i).whenComplete((answer, failure) -> {
            String fault = failure == null ? null : nodes.get(i).describe(failure);
            vote.add(answer, fault, rule, decision);
        }));
        return decision;
    }

    private <R> void add(
            T answer,
            @Nullable String fault,
            Function<QuorumVote<T>, Optional<R>> rule,
            CompletableFuture<R> decision) {
        Optional<R> decided;
        boolean last;
        synchronized (this) {
            if (fault == null) {
                answers.add(answer);
            } else {
                failures.add(fault);
            }
            last = isComplete();
            decided = decision.isDone() ? Optional.empty() : rule.apply(this);
        }
        if (decided.isPresent()) {
            decision.complete(decided.get());
        } else if (last && !decision.isDone()) {
            decision.completeExceptionally(noMajority(nodes, failures));
        }
    }

    /** Returns the failure of a question that too few nodes answered. */
    static StoreException noMajority(int nodes, List<String> faults) {
        return new StoreException(
                "no majority of the " + nodes + " masters answered as was needed: " + String.join("; ", faults), null);
    }

    static int majorityOf(int nodes) {
        return nodes / 2 + 1;
    }

    int majority() {
        return majorityOf(nodes);
    }

    List<T> answers() {
        return answers;
    }

    /** Returns whether a majority has answered, whatever it said. */
    boolean isAnswered() {
        return answers.size() >= majority();
    }

    /** Returns how many have not answered, or never will. */
    int missing() {
        return nodes - answers.size();
    }

    /** Returns whether nothing more will be heard. */
    boolean isComplete() {
        return answers.size() + failures.size() == nodes;
    }

    /** Returns whether a majority says something; false: so many have said something else that none can; empty: open. */
    Optional<Boolean> verdict(Predicate<T> opinion) {
        long agreeing = answers.stream().filter(opinion).count();
        if (agreeing >= majority()) {
            return Optional.of(true);
        }
        return answers.size() - agreeing > nodes - majority() ? Optional.of(false) : Optional.empty();
    }
}
