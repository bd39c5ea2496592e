package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.StoreTimes;
import java.util.ArrayList;
import java.util.List;

/** The ARGV of each script, in the order in which its opening comment names them. */
final class Arguments {

    /** A waiter that has not polled for so many intervals is taken for dead. */
    private static final int ALIVE_POLLS = 3;

    private Arguments() {}

    static List<byte[]> acquire(
            AcquireCommand command, StoreTimes times, Options options, RedisNames names, long sent) {
        List<byte[]> arguments = claim(command, times);
        add(arguments, sent);
        add(arguments, notAfter(times, sent));
        arguments.add(names.channelPrefix());
        add(arguments, options.tombstoneTime().toMillis());
        return arguments;
    }

    static List<byte[]> handOver(
            HandOverCommand command, StoreTimes times, Options options, RedisNames names, long sent) {
        List<byte[]> arguments = new ArrayList<>(11);
        arguments.add(RedisNames.bytes(command.attempt()));
        add(arguments, command.lastToken());
        arguments.addAll(claim(command.next(), times));
        add(arguments, notAfter(times, sent));
        arguments.add(names.channelPrefix());
        add(arguments, options.tombstoneTime().toMillis());
        return arguments;
    }

    static List<byte[]> release(ReleaseCommand command, Options options, RedisNames names) {
        List<byte[]> arguments = new ArrayList<>(4);
        arguments.add(RedisNames.bytes(command.attempt()));
        add(arguments, command.lastToken());
        arguments.add(names.channelPrefix());
        add(arguments, options.tombstoneTime().toMillis());
        return arguments;
    }

    private static List<byte[]> claim(AcquireCommand command, StoreTimes times) {
        List<byte[]> arguments = new ArrayList<>(10);
        arguments.add(RedisNames.bytes(command.attempt()));
        arguments.add(RedisNames.bytes(command.mode() == ClaimMode.FAIR ? "F" : "X"));
        add(arguments, command.leaseMillis());
        add(arguments, command.queue() ? ALIVE_POLLS * times.pollInterval().toMillis() : 0);
        add(arguments, Math.min(command.leaseMillis(), times.grantTime().toMillis()));
        add(arguments, command.tokens());
        return arguments;
    }

    private static long notAfter(StoreTimes times, long sent) {
        return sent + times.commandTimeout().toMillis();
    }

    private static void add(List<byte[]> arguments, long number) {
        arguments.add(RedisNames.bytes(Long.toString(number)));
    }
}
