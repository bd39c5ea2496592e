/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.torture.Disaster.Harm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Judges a history. Belief is recorded so that it is never longer than it was: a lease is seen after it was granted,
 * and each look at it is timed before the look. So what overlaps here has overlapped.
 */
final class HistoryChecker {

    private static final Duration REACTION = Duration.ofMillis(200);

    /** A master of a quorum that was restarted gives no locks for a lease, and for so long. */
    private static final Duration GUARD = Duration.ofSeconds(2);

    private final History history;
    private final List<Window> troubles;
    private final Duration lease;
    private final List<DataLoss> losses;
    private long excused;

    /**
     * Creates a checker.
     *
     * @param history what the workers have seen
     * @param faults what was done to them
     * @param lease how long a lease lasts without a renewal
     */
    HistoryChecker(History history, Collection<Window> faults, Duration lease) {
        this(history, faults, lease, List.of());
    }

    /**
     * Creates a checker.
     *
     * @param losses when servers lost what workers believe, in order: who had it before loses it at the next renewal,
     *     at the latest at the deadline
     */
    HistoryChecker(History history, Collection<Window> faults, Duration lease, List<DataLoss> losses) {
        this.losses = List.copyOf(losses);
        this.history = history;
        this.troubles = Stream.concat(faults.stream(), history.stalls().stream())
                .sorted(Comparator.comparingLong(Window::from))
                .toList();
        this.lease = lease;
    }

    /**
     * What must never be: two who believe, tokens that do not rise, a loss before the deadline, a wait beyond its
     * bound.
     */
    List<String> violations() {
        List<String> violations = new ArrayList<>();
        byName().forEach((name, holds) -> violations.addAll(new OneLock(name).check(holds)));
        history.holds().forEach(hold -> {
            if (hold.lostEarly() && !excuses(mayBeLost(hold))) {
                violations.add("Lost %s before its deadline (%s): %s"
                        .formatted(millis(hold.promised() - hold.lostAt()), hold.lossReason(), hold));
            }
            long late = lateNanos(hold);
            if (late > 0) {
                violations.add(
                        "Answered %s after the bound of %s: %s".formatted(millis(late), millis(hold.boundNanos), hold));
            }
        });
        return violations;
    }

    /** The leases that were lost although nothing was wrong with their worker or the server. */
    List<Hold> unexplainedLosses() {
        return losses().filter(hold -> !isExplained(hold)).toList();
    }

    /** The leases that were lost because of what was wrong, or because their fixed time was over. */
    List<Hold> explainedLosses() {
        return losses().filter(this::isExplained).toList();
    }

    /** The longest time from a question to its answer. */
    Duration longestWait() {
        return Duration.ofNanos(history.holds().stream()
                .filter(hold -> hold.answered() != 0)
                .mapToLong(hold -> hold.answered() - hold.asked)
                .max()
                .orElse(0));
    }

    private Stream<Hold> losses() {
        return history.holds().stream().filter(hold -> hold.lostAt() != 0);
    }

    private boolean isExplained(Hold hold) {
        if ((hold.isFixed() && hold.isAfterPromise(hold.lostAt())) || mayBeLost(hold)) {
            return true;
        }
        long from = Math.min(hold.promised(), hold.lostAt()) - lease.toNanos();
        return troubles.stream()
                .anyMatch(trouble ->
                        trouble.concerns(hold.worker) && trouble.overlaps(from, hold.lostAt() + REACTION.toNanos()));
    }

    private long lateNanos(Hold hold) {
        if (hold.answered() == 0) {
            return 0;
        }
        long waited = hold.answered() - hold.asked - hold.boundNanos;
        return waited <= 0 ? 0 : waited - covered(hold.worker, hold.asked, hold.answered());
    }

    /** How much of a time something was wrong; troubles at the same time count once. */
    private long covered(String worker, long from, long to) {
        long total = 0;
        long reached = from;
        for (Window trouble : troubles) {
            if (trouble.concerns(worker)) {
                total += trouble.within(reached, to);
                reached = Math.max(reached, trouble.to());
            }
        }
        return total;
    }

    private Map<String, List<Hold>> byName() {
        Map<String, List<Hold>> byName = new HashMap<>();
        history.holds().stream()
                .filter(hold -> hold.isHeld() && hold.end() > hold.start())
                .forEach(hold -> hold.tokens().keySet().forEach(name -> byName.computeIfAbsent(
                                name, unseen -> new ArrayList<>())
                        .add(hold)));
        byName.values().forEach(holds -> holds.sort(Comparator.comparingLong(Hold::start)));
        return byName;
    }

    /** How many holders met, or lost their lock early, for want of data that a server had lost. */
    long excused() {
        return excused;
    }

    private boolean mayBeLost(Hold hold) {
        return losses.stream()
                .anyMatch(loss -> hold.lostAt() >= loss.from()
                        && isKnownBefore(hold, loss.to())
                        && (!loss.is(Harm.LOCKS_ARE_LOST_AFTER_ANOTHER) || lacksAMaster(hold, loss)));
    }

    /**
     * Returns whether a holder may meet another one, because the server may have lost what one of them had: the second
     * one, too, since a master that was replaced gives locks until it knows.
     */
    private boolean mayMeet(Hold before, Hold hold) {
        return excuses(losses.stream()
                .anyMatch(loss -> loss.is(Harm.LOCKS_ARE_GIVEN_TWICE)
                        && hold.start() >= loss.from()
                        && (isKnownBefore(before, loss.to()) || isKnownBefore(hold, loss.to()))));
    }

    /** What the store gave or renewed after a loss is not lost by it. */
    private boolean isKnownBefore(Hold hold, long moment) {
        return hold.known(lease.toNanos()) < moment;
    }

    /**
     * Returns whether a hold is not on all masters of a quorum: it began before the one that failed last was back, and
     * gave locks to its worker again. That counts from when the worker saw the restart: a driver may try again after as
     * long as the master was away, and a worker that was stopped sees nothing.
     */
    private boolean lacksAMaster(Hold hold, DataLoss loss) {
        int index = losses.indexOf(loss);
        if (index == 0) {
            return false;
        }
        DataLoss last = losses.get(index - 1);
        long tried = last.to() + (last.to() - last.from()) + REACTION.toNanos();
        long seen = troubles.stream()
                .filter(trouble -> trouble.concerns(hold.worker) && trouble.overlaps(last.to(), tried))
                .mapToLong(Window::to)
                .reduce(tried, Math::max);
        return hold.given(lease.toNanos()) < seen + lease.plus(GUARD).toNanos();
    }

    private boolean excuses(boolean lost) {
        excused += lost ? 1 : 0;
        return lost;
    }

    private static String millis(long nanos) {
        return Duration.ofNanos(nanos).toMillis() + " ms";
    }

    /** The holders of one lock, in the order in which they began to believe. */
    private final class OneLock {

        private final String name;
        private final List<String> violations = new ArrayList<>();
        private final List<Hold> earlier = new ArrayList<>();
        private final List<Hold> believers = new ArrayList<>();
        private long writersToken;
        private long readersToken;

        OneLock(String name) {
            this.name = name;
        }

        List<String> check(List<Hold> holds) {
            for (Hold hold : holds) {
                believers.removeIf(before -> before.end() <= hold.start());
                believers.forEach(before -> excludes(before, hold));
                believers.add(hold);
                token(hold);
            }
            return violations;
        }

        private void excludes(Hold before, Hold hold) {
            if (!(before.isShared() && hold.isShared()) && !mayMeet(before, hold)) {
                violations.add("Two hold '%s' for %s: %s and %s"
                        .formatted(name, millis(Math.min(before.end(), hold.end()) - hold.start()), before, hold));
            }
        }

        private void token(Hold hold) {
            long token = tokenOf(hold);
            long least = hold.isShared() ? writersToken : Math.max(writersToken, readersToken) + 1;
            boolean may = token >= least
                    || (hold.isShared() && knowsLessWriters(hold, token))
                    || isOfAnOldMaster(hold, token);
            if (!may) {
                violations.add(
                        "The token of '%s' is %d, but must be at least %d: %s".formatted(name, token, least, hold));
            }
            earlier.add(hold);
            if (hold.isShared()) {
                readersToken = Math.max(readersToken, token);
            } else {
                writersToken = Math.max(writersToken, token);
            }
        }

        /**
         * A reader has the token of the last writer that the server knows: of those before lost data it may know none.
         */
        private boolean knowsLessWriters(Hold hold, long token) {
            return excuses(
                    losses.stream().filter(loss -> loss.from() <= hold.start()).anyMatch(loss -> earlier.stream()
                            .filter(writer -> !writer.isShared() && !isKnownBefore(writer, loss.to()))
                            .allMatch(writer -> tokenOf(writer) <= token)));
        }

        /**
         * A master that was replaced gives tokens until it knows, as the new one does, both by their clocks: which of
         * two answers comes first says nothing. What was given before the loss has less. A token is given at any time
         * since its caller asked: that the store knows the lease later is from a confirmation, or a renewal.
         */
        private boolean isOfAnOldMaster(Hold hold, long token) {
            return excuses(losses.stream()
                    .filter(loss -> loss.is(Harm.LOCKS_ARE_GIVEN_TWICE)
                            && loss.from() <= hold.start()
                            && (hold.asked < loss.to() || isKnownBefore(hold, loss.to())))
                    .anyMatch(loss -> earlier.stream()
                            .filter(other -> tokenOf(other) >= token)
                            .allMatch(other -> other.start() >= loss.from())));
        }

        private long tokenOf(Hold hold) {
            return hold.tokens().getOrDefault(name, 0L);
        }
    }
}
