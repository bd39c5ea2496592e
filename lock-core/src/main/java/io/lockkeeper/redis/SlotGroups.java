/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.AcquireReply.Acquired;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Commands about several locks: one script where their keys share a slot, as they do on a server that is no cluster;
 * otherwise one for each group of names with the same slot. While a slot moves, one for each name.
 */
final class SlotGroups {

    /** One call of a script keeps Redis busy for about a millisecond at this size; a larger one saves little. */
    private static final int LARGEST = 250;

    /** The most readers of one lock that one script renews: each of them makes it slower. */
    static final int LARGEST_OF_ONE_LOCK = 32;

    private static final BinaryOperator<ReleaseReply> WORST = BinaryOperator.maxBy(Comparator.naturalOrder());

    private final RedisSession session;

    /** What attempts held when they were last placed in the queue of a later group than the first. */
    private final Map<String, Held> heldBefore = new ConcurrentHashMap<>();

    /** Numbers questions and answers, because an earlier question may be answered after a later one. */
    private final AtomicLong moments = new AtomicLong();

    /** How many locks an attempt holds, and since when that is known. */
    private record Held(int locks, long told) {}

    SlotGroups(RedisSession session) {
        this.session = session;
    }

    /** Returns groups of one slot each, with its members in their order, and not too many. */
    static <T> List<List<T>> of(List<T> members, Function<T, Integer> slots) {
        Map<Integer, List<T>> together = members.stream().collect(groupingBy(slots, TreeMap::new, toList()));
        List<List<T>> groups = new ArrayList<>();
        for (List<T> group : together.values()) {
            for (int begin = 0; begin < group.size(); begin += LARGEST) {
                groups.add(group.subList(begin, Math.min(group.size(), begin + LARGEST)));
            }
        }
        return groups;
    }

    /** Returns groups as {@link #of} does, each with at most {@link #LARGEST_OF_ONE_LOCK} readers of one lock. */
    static List<List<RenewCommand>> renewals(List<RenewCommand> commands, Function<RenewCommand, Integer> slots) {
        Map<String, Integer> counts = new HashMap<>();
        List<List<RenewCommand>> rounds = new ArrayList<>();
        for (RenewCommand command : commands) {
            int round = (counts.merge(command.name(), 1, Integer::sum) - 1) / LARGEST_OF_ONE_LOCK;
            if (round == rounds.size()) {
                rounds.add(new ArrayList<>());
            }
            rounds.get(round).add(command);
        }
        return rounds.stream().flatMap(round -> of(round, slots).stream()).toList();
    }

    private int slot(String name) {
        return session.commands.topology.slot(session.names.lock(name));
    }

    /** Returns the names in their order, grouped where neighbours share a slot. */
    private List<List<String>> inOrder(List<String> names) {
        if (names.size() == 1) {
            return List.of(names);
        }
        List<List<String>> groups = new ArrayList<>();
        for (String name : names) {
            List<String> last = groups.isEmpty() ? List.of() : groups.get(groups.size() - 1);
            if (last.isEmpty() || slot(last.get(0)) != slot(name)) {
                last = new ArrayList<>();
                groups.add(last);
            }
            last.add(name);
        }
        return groups;
    }

    CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        if (command.names().size() == 1) {
            return eval(command);
        }
        List<List<String>> groups = inOrder(command.names());
        CompletableFuture<AcquireReply> answer = groups.size() == 1 ? eval(command) : inTurn(command, groups);
        // The groups before the moving slot are asked for again, which is harmless.
        return answer.exceptionallyCompose(failure -> Failures.isOfMovingSlot(failure, command.names())
                ? inTurn(command, command.names().stream().map(List::of).toList())
                : answer);
    }

    private CompletableFuture<AcquireReply> inTurn(AcquireCommand command, List<List<String>> groups) {
        return inTurn(command, groups, 0, new Acquired(Long.MAX_VALUE, List.of()))
                .exceptionallyCompose(failure -> CompletableFuture.failedFuture(Failures.inDoubt(failure)));
    }

    private CompletableFuture<AcquireReply> eval(AcquireCommand command) {
        long longer = session.commands.clocks.differenceMillis();
        return session.eval(
                        session.scripts.acquire(),
                        command.names(),
                        sent -> Arguments.acquire(
                                command, longer, session.traits, sent, session.runOf(command.names())),
                        command.waitNanos())
                .thenApply(reply -> reply.toAcquireReply(command.leaseMillis(), longer));
    }

    /** Acquires one group after the other. If a group is held and the caller does not wait, releases those before. */
    private CompletableFuture<AcquireReply> inTurn(
            AcquireCommand command, List<List<String>> groups, int next, Acquired taken) {
        if (next == groups.size()) {
            heldBefore.remove(command.attempt());
            return CompletableFuture.completedFuture(taken);
        }
        // Locks that are held while the attempt waits for a later group must last until it asks again.
        long leaseMillis = command.queue() && next < groups.size() - 1
                ? Math.max(command.leaseMillis(), session.traits.aliveMillis())
                : command.leaseMillis();
        AcquireCommand part = new AcquireCommand(
                groups.get(next), command.attempt(), command.mode(), leaseMillis, command.queue(), command.tokens(), 0);
        long asked = moments.incrementAndGet();
        return eval(part).thenCompose(reply -> {
            if (reply instanceof Acquired acquired) {
                List<Long> tokens = Stream.concat(taken.firstTokens().stream(), acquired.firstTokens().stream())
                        .toList();
                long lease = Math.min(taken.leaseMillis(), acquired.leaseMillis());
                return inTurn(command, groups, next + 1, new Acquired(lease, tokens));
            }
            if (reply instanceof AcquireReply.Queued queued) {
                if (hasLost(command.attempt(), taken.firstTokens().size(), asked)) {
                    // It may hold locks of later groups, which it cannot use: it releases all and begins anew.
                    return CompletableFuture.completedFuture(new AcquireReply.Ended());
                }
                // Locks that are held while it waits may last for a short time only, and are asked for again before.
                long soonest = Math.min(queued.remainingMillis(), taken.leaseMillis() / 2);
                return CompletableFuture.completedFuture(
                        new AcquireReply.Queued(queued.holder(), soonest, queued.storeMillis()));
            }
            if (next == 0) {
                return CompletableFuture.completedFuture(reply);
            }
            List<String> held =
                    groups.subList(0, next).stream().flatMap(List::stream).toList();
            return release(new ReleaseCommand(held, command.attempt(), 0, 0)).thenApply(released -> reply);
        });
    }

    /**
     * Records how many locks a waiting attempt holds, and returns whether it held more when the question was asked. An
     * answer does not count what was learnt after its question.
     */
    private boolean hasLost(String attempt, int locks, long asked) {
        AtomicBoolean lost = new AtomicBoolean();
        heldBefore.compute(attempt, (same, before) -> {
            if (before != null && before.locks > locks) {
                lost.set(before.told < asked);
                return lost.get() ? null : before;
            }
            return locks > 0 ? new Held(locks, moments.incrementAndGet()) : before;
        });
        return lost.get();
    }

    /** Releases all groups at once, and returns the worst reply. The token is that of the first name. */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        List<List<String>> groups = inOrder(command.names());
        heldBefore.remove(command.attempt());
        long waitNanos = groups.size() == 1 ? command.waitNanos() : 0;
        return all(groups, group -> together(group, names -> release(command, names, waitNanos), WORST), WORST);
    }

    private CompletableFuture<ReleaseReply> release(ReleaseCommand command, List<String> names, long waitNanos) {
        boolean first = names.get(0).equals(command.names().get(0));
        ReleaseCommand part =
                new ReleaseCommand(names, command.attempt(), first ? command.lastToken() : 0, command.keepMillis());
        return session.eval(session.scripts.release(), names, sent -> Arguments.release(part), waitNanos)
                .thenApply(ScriptReply::toReleaseReply);
    }

    /** Renews many holds with few requests: one for the holds of a slot. */
    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        Map<RenewCommand, CompletableFuture<Boolean>> answers = new HashMap<>();
        for (List<RenewCommand> group : renewals(commands, command -> slot(command.name()))) {
            CompletableFuture<String> renewed = together(group, this::renewed, String::concat);
            for (int i = 0; i < group.size(); i++) {
                int position = i;
                answers.put(group.get(i), renewed.thenApply(digits -> digits.charAt(position) == '1'));
            }
        }
        return commands.stream().map(answers::get).toList();
    }

    private CompletableFuture<String> renewed(List<RenewCommand> commands) {
        List<String> names = commands.stream().map(RenewCommand::name).toList();
        long longer = session.commands.clocks.differenceMillis();
        return session.eval(session.scripts.renew(), names, sent -> Arguments.renew(commands, longer), 0)
                .thenApply(ScriptReply::renewed);
    }

    /** Runs a script for all names of a slot; one for each name while the slot is moving. */
    private static <C, R> CompletableFuture<R> together(
            List<C> part, Function<List<C>, CompletableFuture<R>> script, BinaryOperator<R> join) {
        CompletableFuture<R> reply = script.apply(part);
        return reply.exceptionallyCompose(failure ->
                Failures.isOfMovingSlot(failure, part) ? all(part, one -> script.apply(List.of(one)), join) : reply);
    }

    /** Sends all commands at once, and joins the replies. */
    private static <C, R> CompletableFuture<R> all(
            List<C> parts, Function<C, CompletableFuture<R>> command, BinaryOperator<R> join) {
        return parts.stream()
                .map(command)
                .reduce((one, other) -> one.thenCombine(other, join))
                .orElseThrow();
    }
}
