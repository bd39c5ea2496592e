/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * Commands about several locks: one script where their keys share a slot, as they do on a server that is no cluster;
 * otherwise one for each run of names with the same slot, in the order of the names. While that slot moves, one for each name.
 */
final class SlotRuns {

    private final RedisSession session;

    SlotRuns(RedisSession session) {
        this.session = session;
    }

    CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        List<List<String>> runs = runs(command.names());
        return command.names().size() == 1 ? eval(command) : acquire(command, runs, List.of());
    }

    private CompletableFuture<AcquireReply> eval(AcquireCommand command) {
        return session.evalInTime(LuaScript.ACQUIRE, command.names(), sent -> session.arguments()
                        .acquire(command, sent, session.runOf(command.names())))
                .thenApply(reply -> reply.toAcquireReply(command.leaseMillis()));
    }

    /** Takes one run after the other, and gives those taken back where a caller who does not wait finds one held. */
    private CompletableFuture<AcquireReply> acquire(
            AcquireCommand command, List<List<String>> runs, List<AcquireReply.Acquired> taken) {
        if (taken.size() == runs.size()) {
            return CompletableFuture.completedFuture(together(taken));
        }
        CompletableFuture<AcquireReply> answer = eval(part(command, runs, taken.size()));
        return answer.handle((reply, failure) -> {
                    if (reply != null) {
                        return goOn(command, runs, taken, reply);
                    }
                    return ServerError.isOfMovingSlot(failure, runs.get(taken.size()))
                            ? acquire(command, apart(runs, taken.size()), taken)
                            : answer;
                })
                .thenCompose(Function.identity());
    }

    private CompletableFuture<AcquireReply> goOn(
            AcquireCommand command, List<List<String>> runs, List<AcquireReply.Acquired> taken, AcquireReply reply) {
        if (reply instanceof AcquireReply.Acquired acquired) {
            List<AcquireReply.Acquired> longer = new ArrayList<>(taken);
            longer.add(acquired);
            return acquire(command, runs, longer);
        }
        if (reply instanceof AcquireReply.Queued queued) {
            return CompletableFuture.completedFuture(whileHeld(queued, taken));
        }
        if (taken.isEmpty()) {
            return CompletableFuture.completedFuture(reply);
        }
        List<String> held =
                runs.subList(0, taken.size()).stream().flatMap(List::stream).toList();
        return release(new ReleaseCommand(held, command.attempt(), 0, 0)).thenApply(released -> reply);
    }

    /** Returns runs of which one is taken name by name: its keys are at two masters while their slot moves. */
    private static List<List<String>> apart(List<List<String>> runs, int moving) {
        List<List<String>> split = new ArrayList<>(runs);
        List<String> names = split.remove(moving);
        split.addAll(moving, names.stream().map(List::of).toList());
        return split;
    }

    /** What is held while the attempt waits may last for a short time only: it is asked for again before that. */
    private static AcquireReply whileHeld(AcquireReply.Queued queued, List<AcquireReply.Acquired> taken) {
        long soonest =
                taken.stream().mapToLong(held -> held.leaseMillis() / 2).min().orElse(queued.remainingMillis());
        return new AcquireReply.Queued(
                queued.holder(), Math.min(soonest, queued.remainingMillis()), queued.storeMillis());
    }

    private AcquireCommand part(AcquireCommand command, List<List<String>> runs, int index) {
        boolean last = index == runs.size() - 1;
        // What is held while the attempt waits for a later run must last until it asks again.
        long lease = command.queue() && !last
                ? Math.max(command.leaseMillis(), session.arguments().aliveMillis())
                : command.leaseMillis();
        return new AcquireCommand(
                runs.get(index), command.attempt(), command.mode(), lease, command.queue(), command.tokens());
    }

    private static AcquireReply together(List<AcquireReply.Acquired> taken) {
        long lease = taken.stream()
                .mapToLong(AcquireReply.Acquired::leaseMillis)
                .min()
                .orElseThrow();
        List<Long> tokens =
                taken.stream().flatMap(run -> run.firstTokens().stream()).toList();
        return new AcquireReply.Acquired(lease, tokens);
    }

    /** Releases all runs at once, and answers with what is worst. The token is that of the first name. */
    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        return release(command, runs(command.names()));
    }

    private CompletableFuture<ReleaseReply> release(ReleaseCommand command, List<List<String>> runs) {
        List<CompletableFuture<ReleaseReply>> replies = new ArrayList<>();
        for (List<String> run : runs) {
            long lastToken = replies.isEmpty() ? command.lastToken() : 0;
            ReleaseCommand part = new ReleaseCommand(run, command.attempt(), lastToken, command.keepMillis());
            CompletableFuture<ReleaseReply> reply = session.eval(
                            LuaScript.RELEASE, run, session.arguments().release(part))
                    .thenApply(ScriptReply::toReleaseReply);
            replies.add(reply.exceptionallyCompose(failure ->
                    ServerError.isOfMovingSlot(failure, run) ? release(part, apart(List.of(run), 0)) : reply));
        }
        return CompletableFuture.allOf(replies.toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> Collections.max(
                        replies.stream().map(CompletableFuture::join).toList()));
    }

    private List<List<String>> runs(List<String> names) {
        if (names.size() == 1) {
            return List.of(names);
        }
        List<List<String>> runs = new ArrayList<>();
        int slot = -1;
        for (String name : names) {
            int next = session.driver().slot(session.names().lock(name));
            if (next != slot) {
                runs.add(new ArrayList<>());
            }
            runs.get(runs.size() - 1).add(name);
            slot = next;
        }
        return runs;
    }
}
