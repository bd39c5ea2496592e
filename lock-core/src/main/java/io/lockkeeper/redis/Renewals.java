package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Renews many holds with few requests: those of one slot together. */
final class Renewals {

    private Renewals() {}

    @SuppressWarnings("unchecked") // There are no arrays of a generic type.
    static List<CompletableFuture<Boolean>> inBatches(
            List<RenewCommand> commands, RedisNames names, Options options, RedisDriver driver, ServerClock clock) {
        List<byte[]> keys =
                commands.stream().map(command -> names.lock(command.name())).toList();
        CompletableFuture<Boolean>[] answers = (CompletableFuture<Boolean>[]) new CompletableFuture<?>[keys.size()];
        for (int[] batch : SlotBatches.of(keys, driver::slot)) {
            CompletableFuture<List<Object>> reply = send(batch, keys, commands, options, driver, clock);
            for (int i = 0; i < batch.length; i++) {
                int position = i + 1;
                answers[batch[i]] = reply.thenApply(raw -> raw.get(position).equals(1L));
            }
        }
        return List.of(answers);
    }

    private static CompletableFuture<List<Object>> send(
            int[] batch,
            List<byte[]> keys,
            List<RenewCommand> commands,
            Options options,
            RedisDriver driver,
            ServerClock clock) {
        List<byte[]> batchKeys = new ArrayList<>(batch.length);
        List<byte[]> arguments = new ArrayList<>(1 + 3 * batch.length);
        arguments.add(RedisNames.bytes(Long.toString(options.tombstoneTime().toMillis())));
        for (int position : batch) {
            RenewCommand command = commands.get(position);
            batchKeys.add(keys.get(position));
            arguments.add(RedisNames.bytes(command.attempt()));
            arguments.add(RedisNames.bytes(Long.toString(command.leaseMillis())));
            arguments.add(RedisNames.bytes(command.exact() ? "1" : "0"));
        }
        return driver.eval(LuaScript.RENEW, batchKeys, arguments).thenApply(raw -> {
            clock.told((Long) raw.get(0));
            return raw;
        });
    }
}
