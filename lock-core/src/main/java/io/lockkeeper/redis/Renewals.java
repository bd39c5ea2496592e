/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** Renews many holds with few requests: those of one slot together. */
final class Renewals {

    private final List<RenewCommand> commands;
    private final List<byte[]> keys;
    private final RedisSession session;

    private Renewals(List<RenewCommand> commands, RedisSession session) {
        this.commands = commands;
        this.keys = commands.stream()
                .map(command -> session.names().lock(command.name()))
                .toList();
        this.session = session;
    }

    static List<CompletableFuture<Boolean>> inBatches(List<RenewCommand> commands, RedisSession session) {
        return new Renewals(commands, session).answers();
    }

    @SuppressWarnings("unchecked") // There are no arrays of a generic type.
    private List<CompletableFuture<Boolean>> answers() {
        CompletableFuture<Boolean>[] answers = (CompletableFuture<Boolean>[]) new CompletableFuture<?>[keys.size()];
        for (int[] batch : SlotBatches.of(keys, session.driver()::slot)) {
            CompletableFuture<List<Object>> reply = together(batch);
            for (int i = 0; i < batch.length; i++) {
                int position = i + 1;
                answers[batch[i]] = reply.thenApply(raw -> raw.get(position).equals(1L));
            }
        }
        return List.of(answers);
    }

    private CompletableFuture<List<Object>> together(int[] batch) {
        CompletableFuture<List<Object>> reply = send(batch);
        return reply.exceptionallyCompose(failure ->
                ServerError.isOfMovingSlot(failure, IntStream.of(batch).boxed().toList()) ? apart(batch) : reply);
    }

    private CompletableFuture<List<Object>> apart(int[] batch) {
        List<CompletableFuture<List<Object>>> replies =
                IntStream.of(batch).mapToObj(this::send).toList();
        return CompletableFuture.allOf(replies.toArray(CompletableFuture[]::new))
                .thenApply(done -> {
                    List<Object> answers = new ArrayList<>(1 + batch.length);
                    answers.add(replies.get(0).join().get(0));
                    replies.forEach(reply -> answers.add(reply.join().get(1)));
                    return answers;
                });
    }

    private CompletableFuture<List<Object>> send(int... batch) {
        List<byte[]> batchKeys = IntStream.of(batch).mapToObj(keys::get).toList();
        List<byte[]> arguments = session.arguments()
                .renew(IntStream.of(batch).mapToObj(commands::get).toList());
        return session.evalTimed(LuaScript.RENEW, batchKeys, arguments);
    }
}
