/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.quorum.QuorumVote.Rule;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** What the nodes together know of locks and clients. */
final class QuorumReads {

    private QuorumReads() {}

    /** A lock is held by whom a majority knows as its holder, and is free where no attempt can be known to so many. */
    static Rule<Optional<StoredLock>, Optional<StoredLock>> ofLock(String name) {
        return vote -> {
            List<StoredLock> seen =
                    vote.answers().stream().flatMap(Optional::stream).toList();
            Map<String, Long> known = seen.stream()
                    .flatMap(lock -> lock.holders().stream())
                    .collect(Collectors.groupingBy(holder -> holder, LinkedHashMap::new, Collectors.counting()));
            List<String> holders = known.keySet().stream()
                    .filter(holder -> known.getOrDefault(holder, 0L) >= vote.majority())
                    .toList();
            if (!holders.isEmpty()) {
                return Optional.of(Optional.of(together(name, holders, seen)));
            }
            long best = known.values().stream().mapToLong(Long::longValue).max().orElse(0);
            return best + vote.missing() < vote.majority() ? Optional.of(Optional.empty()) : Optional.empty();
        };
    }

    private static StoredLock together(String name, List<String> holders, List<StoredLock> seen) {
        List<StoredLock> agreeing = seen.stream()
                .filter(lock -> lock.holders().stream().anyMatch(holders::contains))
                .toList();
        long remaining =
                agreeing.stream().mapToLong(StoredLock::remainingMillis).min().orElse(0);
        long token = seen.stream().mapToLong(StoredLock::token).max().orElse(0);
        return new StoredLock(name, agreeing.get(0).mode(), holders, token, remaining, List.of());
    }

    /** A majority together knows every name that some majority knows. */
    static Rule<List<String>, List<String>> ofNames(int limit) {
        return vote -> vote.isAnswered()
                ? Optional.of(vote.answers().stream()
                        .flatMap(Collection::stream)
                        .distinct()
                        .limit(limit)
                        .toList())
                : Optional.empty();
    }

    /** Clients describe themselves at all nodes. */
    static Rule<List<StoredInstance>, List<StoredInstance>> ofInstances() {
        return vote -> vote.isAnswered()
                ? Optional.of(List.copyOf(vote.answers().stream()
                        .flatMap(Collection::stream)
                        .collect(Collectors.toMap(
                                StoredInstance::clientId,
                                instance -> instance,
                                (first, other) -> first,
                                LinkedHashMap::new))
                        .values()))
                : Optional.empty();
    }

    /** Something was taken away where any master says so; only a majority can say that no majority has the lock now. */
    static Rule<Boolean, Boolean> ofRevocation() {
        return vote -> {
            boolean taken = vote.answers().contains(true);
            return vote.isAnswered() && (taken || vote.isComplete()) ? Optional.of(taken) : Optional.empty();
        };
    }
}
