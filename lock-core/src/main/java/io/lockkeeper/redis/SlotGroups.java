/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;

/**
 * Commands about several locks: one script where their keys share a slot, as they do on a server that is no cluster;
 * otherwise one for each group of names with the same slot. While that slot moves, one for each name.
 */
final class SlotGroups {

    /** One call of a script keeps Redis busy for about a millisecond at this size; a larger one saves little. */
    private static final int LARGEST = 250;

    private final RedisSession session;

    SlotGroups(RedisSession session) {
        this.session = session;
    }

    /** Returns the positions of keys: each group has keys of one slot, and not too many. */
    static List<int[]> of(List<byte[]> keys, ToIntFunction<byte[]> slots) {
        long[] ordered = IntStream.range(0, keys.size())
                .mapToLong(position -> ((long) slots.applyAsInt(keys.get(position)) << Integer.SIZE) + position)
                .sorted()
                .toArray();
        List<int[]> groups = new ArrayList<>();
        int begin = 0;
        for (int end = 1; end <= ordered.length; end++) {
            if (end == ordered.length || end - begin == LARGEST || slot(ordered[end]) != slot(ordered[begin])) {
                groups.add(
                        IntStream.range(begin, end).map(i -> (int) ordered[i]).toArray());
                begin = end;
            }
        }
        return groups;
    }

    private static long slot(long ordered) {
        return ordered >> Integer.SIZE;
    }

    /** Returns the names in their order, those that follow each other in one slot together. */
    private List<List<String>> inOrder(List<String> names) {
        if (names.size() == 1) {
            return List.of(names);
        }
        List<List<String>> groups = new ArrayList<>();
        int slot = -1;
        for (String name : names) {
            int next = session.commands.slot(session.names.lock(name));
            if (next != slot) {
                groups.add(new ArrayList<>());
            }
            groups.get(groups.size() - 1).add(name);
            slot = next;
        }
        return groups;
    }

    /** Returns groups of which one is taken name by name: its keys are at two masters while their slot moves. */
    private static List<List<String>> apart(List<List<String>> groups, int moving) {
        List<List<String>> split = new ArrayList<>(groups);
        List<String> names = split.remove(moving);
        split.addAll(moving, names.stream().map(List::of).toList());
        return split;
    }

    CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return command.names().size() == 1 ? eval(command) : acquire(command, inOrder(command.names()), List.of());
    }

    private CompletableFuture<AcquireReply> eval(AcquireCommand command) {
        return session.evalInTime(
                        session.scripts.acquire(),
                        command.names(),
                        sent -> Arguments.acquire(command, session.traits, sent, session.runOf(command.names())),
                        command.waitNanos())
                .thenApply(reply -> reply.toAcquireReply(command.leaseMillis()));
    }

    /** Takes one group after the other, and gives those taken back where a caller that does not wait finds one held. */
    private CompletableFuture<AcquireReply> acquire(
            AcquireCommand command, List<List<String>> groups, List<AcquireReply.Acquired> taken) {
        if (taken.size() == groups.size()) {
            return CompletableFuture.completedFuture(together(taken));
        }
        CompletableFuture<AcquireReply> answer = eval(part(command, groups, taken.size()));
        return answer.handle((reply, failure) -> {
                    if (reply != null) {
                        return goOn(command, groups, taken, reply);
                    }
                    return Failures.isOfMovingSlot(failure, groups.get(taken.size()))
                            ? acquire(command, apart(groups, taken.size()), taken)
                            : answer;
                })
                .thenCompose(Function.identity());
    }

    private CompletableFuture<AcquireReply> goOn(
            AcquireCommand command, List<List<String>> groups, List<AcquireReply.Acquired> taken, AcquireReply reply) {
        if (reply instanceof AcquireReply.Acquired acquired) {
            List<AcquireReply.Acquired> longer = new ArrayList<>(taken);
            longer.add(acquired);
            return acquire(command, groups, longer);
        }
        if (reply instanceof AcquireReply.Queued queued) {
            // What is held while the attempt waits may last for a short time only: it is asked for again before that.
            long soonest = taken.stream()
                    .mapToLong(held -> held.leaseMillis() / 2)
                    .reduce(queued.remainingMillis(), Math::min);
            return CompletableFuture.completedFuture(
                    new AcquireReply.Queued(queued.holder(), soonest, queued.storeMillis()));
        }
        if (taken.isEmpty()) {
            return CompletableFuture.completedFuture(reply);
        }
        List<String> held =
                groups.subList(0, taken.size()).stream().flatMap(List::stream).toList();
        return release(new ReleaseCommand(held, command.attempt(), 0, 0)).thenApply(released -> reply);
    }

    private AcquireCommand part(AcquireCommand command, List<List<String>> groups, int index) {
        boolean last = index == groups.size() - 1;
        // What is held while the attempt waits for a later group must last until it asks again.
        long lease = command.queue() && !last
                ? Math.max(command.leaseMillis(), Arguments.aliveMillis(session.traits))
                : command.leaseMillis();
        return new AcquireCommand(
                groups.get(index),
                command.attempt(),
                command.mode(),
                lease,
                command.queue(),
                command.tokens(),
                groups.size() == 1 ? command.waitNanos() : 0);
    }

    private static AcquireReply together(List<AcquireReply.Acquired> taken) {
        long lease = taken.stream()
                .mapToLong(AcquireReply.Acquired::leaseMillis)
                .min()
                .orElseThrow();
        List<Long> tokens =
                taken.stream().flatMap(group -> group.firstTokens().stream()).toList();
        return new AcquireReply.Acquired(lease, tokens);
    }

    /** Releases all groups at once, and answers with what is worst. The token is that of the first name. */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return release(command, inOrder(command.names()));
    }

    private CompletableFuture<ReleaseReply> release(ReleaseCommand command, List<List<String>> groups) {
        List<CompletableFuture<ReleaseReply>> replies = new ArrayList<>();
        for (List<String> group : groups) {
            long lastToken = replies.isEmpty() ? command.lastToken() : 0;
            ReleaseCommand part = new ReleaseCommand(group, command.attempt(), lastToken, command.keepMillis());
            CompletableFuture<ReleaseReply> reply = session.eval(
                            session.scripts.release(),
                            group,
                            Arguments.release(part),
                            groups.size() == 1 ? command.waitNanos() : 0)
                    .thenApply(ScriptReply::toReleaseReply);
            replies.add(reply.exceptionallyCompose(failure ->
                    Failures.isOfMovingSlot(failure, group) ? release(part, apart(List.of(group), 0)) : reply));
        }
        return CompletableFuture.allOf(replies.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> Collections.max(
                        replies.stream().map(CompletableFuture::join).toList()));
    }

    /** Renews many holds with few requests: those of one slot together. */
    @SuppressWarnings("unchecked") // There are no arrays of a generic type.
    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        List<byte[]> keys = commands.stream()
                .map(command -> session.names.lock(command.name()))
                .toList();
        CompletableFuture<Boolean>[] answers = (CompletableFuture<Boolean>[]) new CompletableFuture<?>[keys.size()];
        for (int[] group : of(keys, session.commands::slot)) {
            List<RenewCommand> part =
                    IntStream.of(group).mapToObj(commands::get).toList();
            CompletableFuture<List<Boolean>> reply = renewTogether(part);
            CompletableFuture<List<Boolean>> held = reply.exceptionallyCompose(
                    failure -> Failures.isOfMovingSlot(failure, part) ? renewApart(part) : reply);
            for (int i = 0; i < group.length; i++) {
                int position = i;
                answers[group[i]] = held.thenApply(all -> all.get(position));
            }
        }
        return List.of(answers);
    }

    private CompletableFuture<List<Boolean>> renewApart(List<RenewCommand> commands) {
        List<CompletableFuture<List<Boolean>>> replies = commands.stream()
                .map(command -> renewTogether(List.of(command)))
                .toList();
        return CompletableFuture.allOf(replies.toArray(CompletableFuture[]::new))
                .thenApply(done ->
                        replies.stream().flatMap(reply -> reply.join().stream()).toList());
    }

    private CompletableFuture<List<Boolean>> renewTogether(List<RenewCommand> commands) {
        List<byte[]> keys = commands.stream()
                .map(command -> session.names.lock(command.name()))
                .toList();
        return session.evalTimed(session.scripts.renew(), keys, Arguments.renew(commands))
                .thenApply(reply ->
                        reply.renewed().chars().mapToObj(digit -> digit == '1').toList());
    }
}
