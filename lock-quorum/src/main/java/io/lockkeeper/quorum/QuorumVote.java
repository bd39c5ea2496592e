/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreNotReadyException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the nodes have answered to one question by one moment. */
final class QuorumVote<T> {

    final int nodes;
    final int majority;
    final List<T> answers = new ArrayList<>();
    final List<QuorumNode> outstanding = new ArrayList<>();
    private final Map<QuorumNode, Throwable> failures = new LinkedHashMap<>();

    /** The answer of one node, when it comes. */
    record Ballot<T>(QuorumNode node, CompletableFuture<T> reply) {}

    private QuorumVote(List<Ballot<T>> ballots) {
        nodes = ballots.size();
        majority = nodes / 2 + 1;
        for (Ballot<T> ballot : ballots) {
            if (!ballot.reply.isDone()) {
                outstanding.add(ballot.node);
                continue;
            }
            ballot.reply.whenComplete((answer, failure) -> {
                if (failure == null) {
                    answers.add(answer);
                } else {
                    failures.put(ballot.node, Objects.requireNonNullElse(failure.getCause(), failure));
                }
            });
        }
    }

    /**
     * Decides by the nodes' answers as soon as the rule can, which gives nothing where it needs more of them. Fails,
     * and names the nodes without an answer, where so many have failed that no majority can answer, or no more come.
     */
    static <T, R> CompletableFuture<R> decide(List<Ballot<T>> ballots, Function<QuorumVote<T>, Optional<R>> rule) {
        CompletableFuture<R> decision = new CompletableFuture<>();
        for (Ballot<T> ballot : ballots) {
            ballot.reply.whenComplete((answer, failure) -> {
                if (!decision.isDone()) {
                    new QuorumVote<>(ballots).apply(rule, decision);
                }
            });
        }
        return decision;
    }

    private <R> void apply(Function<QuorumVote<T>, Optional<R>> rule, CompletableFuture<R> decision) {
        Optional<R> decided = rule.apply(this);
        if (decided.isPresent()) {
            decision.complete(decided.get());
        } else if (outstanding.isEmpty() || answers.size() + outstanding.size() < majority) {
            decision.completeExceptionally(noMajority());
        }
    }

    /** Where nodes that have never been reached would do, a caller who waits may ask again: they may be there soon. */
    private StoreException noMajority() {
        outstanding.forEach(node -> failures.put(node, node.silence()));
        String message = failures.entrySet().stream()
                .map(failed -> "master " + failed.getKey().number + ": "
                        + (failed.getValue() instanceof StoreException known ? known.getMessage() : failed.getValue()))
                .collect(Collectors.joining(
                        "; ", "no majority of the " + nodes + " masters answered as was needed: ", ""));
        long notReady = failures.values().stream()
                .filter(StoreNotReadyException.class::isInstance)
                .count();
        return notReady > 0 && answers.size() + notReady >= majority
                ? new StoreNotReadyException(message, null)
                : new StoreException(message, null);
    }

    /** Returns the most that have something in common; empty where there are none at all. */
    static <A> List<A> most(Stream<A> all, Function<A, ?> common) {
        return all.collect(Collectors.groupingBy(common)).values().stream()
                .max(Comparator.comparing(List::size))
                .orElse(List.of());
    }

    /** Returns whether a majority has answered, whatever it said. */
    boolean isAnswered() {
        return answers.size() >= majority;
    }

    /** Returns whether a majority says something; false: so many say something else that none can; empty: open. */
    Optional<Boolean> verdict(Predicate<T> opinion) {
        long agreeing = answers.stream().filter(opinion).count();
        if (agreeing >= majority) {
            return Optional.of(true);
        }
        return answers.size() - agreeing > nodes - majority ? Optional.of(false) : Optional.empty();
    }
}
