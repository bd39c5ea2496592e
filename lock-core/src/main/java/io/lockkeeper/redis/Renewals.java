package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Renews many holds with few requests. */
final class Renewals {

    /** One call of the script keeps Redis busy for about a millisecond at this size; a larger one saves little. */
    private static final int BATCH = 250;

    private Renewals() {}

    static List<CompletableFuture<Boolean>> inBatches(
            List<RenewCommand> commands, RedisNames names, Options options, RedisDriver driver, ServerClock clock) {
        List<CompletableFuture<Boolean>> answers = new ArrayList<>(commands.size());
        for (int from = 0; from < commands.size(); from += BATCH) {
            List<RenewCommand> batch = commands.subList(from, Math.min(commands.size(), from + BATCH));
            CompletableFuture<List<Object>> reply = send(batch, names, options, driver, clock);
            for (int i = 0; i < batch.size(); i++) {
                int position = i + 1;
                answers.add(reply.thenApply(raw -> raw.get(position).equals(1L)));
            }
        }
        return answers;
    }

    private static CompletableFuture<List<Object>> send(
            List<RenewCommand> batch, RedisNames names, Options options, RedisDriver driver, ServerClock clock) {
        List<byte[]> keys = new ArrayList<>(batch.size());
        List<byte[]> arguments = new ArrayList<>(1 + 3 * batch.size());
        arguments.add(RedisNames.bytes(Long.toString(options.tombstoneTime().toMillis())));
        for (RenewCommand command : batch) {
            keys.add(names.lock(command.name()));
            arguments.add(RedisNames.bytes(command.attempt()));
            arguments.add(RedisNames.bytes(Long.toString(command.leaseMillis())));
            arguments.add(RedisNames.bytes(command.exact() ? "1" : "0"));
        }
        return driver.eval(LuaScript.RENEW, keys, arguments).thenApply(raw -> {
            clock.told((Long) raw.get(0));
            return raw;
        });
    }
}
