package io.lockkeeper.redis;

import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Renews many holds with few requests. */
final class Renewals {

    /** One call of the script keeps Redis busy for about a millisecond at this size; a larger one saves little. */
    private static final int BATCH = 250;

    private Renewals() {}

    static List<CompletableFuture<Boolean>> inBatches(List<RenewCommand> commands, RedisSession session) {
        List<CompletableFuture<Boolean>> answers = new ArrayList<>(commands.size());
        for (int from = 0; from < commands.size(); from += BATCH) {
            List<RenewCommand> batch = commands.subList(from, Math.min(commands.size(), from + BATCH));
            CompletableFuture<List<Object>> reply = send(batch, session);
            for (int i = 0; i < batch.size(); i++) {
                int position = i + 1;
                answers.add(reply.thenApply(raw -> raw.get(position).equals(1L)));
            }
        }
        return answers;
    }

    private static CompletableFuture<List<Object>> send(List<RenewCommand> batch, RedisSession session) {
        List<byte[]> keys = batch.stream()
                .map(command -> session.names().lock(command.name()))
                .toList();
        return session.driver()
                .eval(LuaScript.RENEW, keys, session.arguments().renew(batch))
                .thenApply(raw -> {
                    session.clock().told((Long) raw.get(0));
                    return raw;
                });
    }
}
