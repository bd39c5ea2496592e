package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.RenewCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** Renews many holds with few requests: those of one slot together. */
final class Renewals {

    private final List<RenewCommand> commands;
    private final List<byte[]> keys;
    private final byte[] tombstoneMillis;
    private final RedisDriver driver;
    private final ServerClock clock;

    private Renewals(
            List<RenewCommand> commands, RedisNames names, Options options, RedisDriver driver, ServerClock clock) {
        this.commands = commands;
        this.keys = commands.stream().map(command -> names.lock(command.name())).toList();
        this.tombstoneMillis =
                RedisNames.bytes(Long.toString(options.tombstoneTime().toMillis()));
        this.driver = driver;
        this.clock = clock;
    }

    static List<CompletableFuture<Boolean>> inBatches(
            List<RenewCommand> commands, RedisNames names, Options options, RedisDriver driver, ServerClock clock) {
        return new Renewals(commands, names, options, driver, clock).answers();
    }

    @SuppressWarnings("unchecked") // There are no arrays of a generic type.
    private List<CompletableFuture<Boolean>> answers() {
        CompletableFuture<Boolean>[] answers = (CompletableFuture<Boolean>[]) new CompletableFuture<?>[keys.size()];
        for (int[] batch : SlotBatches.of(keys, driver::slot)) {
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
        if (batch.length == 1) {
            return reply;
        }
        // While a slot moves from one master to another, neither takes a command for keys of which it has only some.
        return reply.exceptionallyCompose(
                failure -> String.valueOf(failure.getMessage()).contains("TRYAGAIN") ? apart(batch) : reply);
    }

    private CompletableFuture<List<Object>> apart(int[] batch) {
        List<CompletableFuture<List<Object>>> replies =
                IntStream.of(batch).mapToObj(this::send).toList();
        return CompletableFuture.allOf(replies.toArray(CompletableFuture[]::new))
                .thenApply(done -> {
                    List<Object> answers = new ArrayList<>(1 + batch.length);
                    answers.add(clock.millis());
                    replies.forEach(reply -> answers.add(reply.join().get(1)));
                    return answers;
                });
    }

    private CompletableFuture<List<Object>> send(int... batch) {
        List<byte[]> batchKeys = new ArrayList<>(batch.length);
        List<byte[]> arguments = new ArrayList<>(1 + 3 * batch.length);
        arguments.add(tombstoneMillis);
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
