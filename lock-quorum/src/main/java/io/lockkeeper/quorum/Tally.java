/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The answers of all masters to one question, as far as they are there. Guarded by itself.
 *
 * @param <T> what a master answers
 */
final class Tally<T> {

    private final int masters;
    private final List<T> answers = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    private Tally(int masters) {
        this.masters = masters;
    }

    /**
     * Decides what answers can, as soon as they can.
     *
     * @param answers the answers to come, in the order of the masters
     * @param describe says of a failure which master it is of
     * @param rule the decision; empty: more answers are needed. Not asked again once it has decided
     * @return the decision; a {@link StoreException} that names the masters that failed, if there is none
     */
    static <T, R> CompletableFuture<R> decide(
            List<CompletableFuture<T>> answers, BiFunction<Integer, Throwable, String> describe, Rule<T, R> rule) {
        Tally<T> tally = new Tally<>(answers.size());
        CompletableFuture<R> decision = new CompletableFuture<>();
        IntStream.range(0, answers.size()).forEach(i -> answers.get(i).whenComplete((answer, failure) -> {
            String fault = failure == null ? null : describe.apply(i, failure);
            tally.add(answer, fault, rule, decision);
        }));
        return decision;
    }

    private <R> void add(T answer, @Nullable String fault, Rule<T, R> rule, CompletableFuture<R> decision) {
        Optional<R> decided;
        boolean last;
        synchronized (this) {
            if (fault == null) {
                answers.add(answer);
            } else {
                failures.add(fault);
            }
            last = isComplete();
            decided = decision.isDone() ? Optional.empty() : rule.decide(this);
        }
        if (decided.isPresent()) {
            decision.complete(decided.get());
        } else if (last && !decision.isDone()) {
            decision.completeExceptionally(noMajority(masters, failures));
        }
    }

    /** Returns the failure of a question that too few masters answered. */
    static StoreException noMajority(int masters, List<String> faults) {
        return new StoreException(
                "no majority of the " + masters + " masters answered as was needed: " + String.join("; ", faults),
                null);
    }

    static int majorityOf(int masters) {
        return masters / 2 + 1;
    }

    int majority() {
        return majorityOf(masters);
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
        return masters - answers.size();
    }

    /** Returns whether nothing more will be heard. */
    boolean isComplete() {
        return answers.size() + failures.size() == masters;
    }

    /** Returns whether a majority says something. */
    boolean isCarried(Predicate<T> opinion) {
        return count(opinion) >= majority();
    }

    /** Returns whether so many have said something else that a majority cannot say this any more. */
    boolean isRefuted(Predicate<T> opinion) {
        return count(opinion.negate()) > masters - majority();
    }

    private long count(Predicate<T> opinion) {
        return answers.stream().filter(opinion).count();
    }

    /** A decision by counting. */
    @FunctionalInterface
    interface Rule<T, R> {

        /** Returns what the answers decide; empty: nothing yet. */
        Optional<R> decide(Tally<T> tally);
    }
}
