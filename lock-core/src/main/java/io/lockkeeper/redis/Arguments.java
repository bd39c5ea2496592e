/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreTraits;
import java.util.ArrayList;
import java.util.List;

/** The ARGV of each script, in the order in which its opening comment names them. */
final class Arguments {

    /** A waiter that has not polled for so many intervals is taken for dead. */
    private static final int ALIVE_POLLS = 3;

    private final StoreTraits traits;
    private final byte[] channelPrefix;
    private final long tombstoneMillis;

    Arguments(StoreTraits traits, Options options, RedisNames names) {
        this.traits = traits;
        this.channelPrefix = names.channelPrefix();
        this.tombstoneMillis = options.tombstoneTime().toMillis();
    }

    /** Returns how long an attempt that waits keeps what it has without asking again. */
    long aliveMillis() {
        return ALIVE_POLLS * traits.pollInterval().toMillis();
    }

    List<byte[]> acquire(AcquireCommand command, long sent, String run) {
        List<byte[]> arguments = new ArrayList<>(11);
        claim(arguments, command);
        add(arguments, sent);
        add(arguments, notAfter(sent));
        arguments.add(channelPrefix);
        add(arguments, tombstoneMillis);
        arguments.add(RedisNames.bytes(run));
        return arguments;
    }

    List<byte[]> handOver(HandOverCommand command, long sent) {
        List<byte[]> arguments = new ArrayList<>(12);
        arguments.add(RedisNames.bytes(command.attempt()));
        add(arguments, command.lastToken());
        claim(arguments, command.next());
        add(arguments, notAfter(sent));
        arguments.add(channelPrefix);
        add(arguments, tombstoneMillis);
        add(arguments, command.ahead() ? 1 : 0);
        return arguments;
    }

    List<byte[]> release(ReleaseCommand command) {
        List<byte[]> arguments = new ArrayList<>(5);
        arguments.add(RedisNames.bytes(command.attempt()));
        add(arguments, command.lastToken());
        add(arguments, command.keepMillis());
        arguments.add(channelPrefix);
        add(arguments, tombstoneMillis);
        return arguments;
    }

    List<byte[]> renew(List<RenewCommand> commands) {
        List<byte[]> arguments = new ArrayList<>(1 + 4 * commands.size());
        add(arguments, tombstoneMillis);
        for (RenewCommand command : commands) {
            arguments.add(RedisNames.bytes(command.attempt()));
            add(arguments, command.leaseMillis());
            add(arguments, command.exact() ? 1 : 0);
            add(arguments, command.leastToken());
        }
        return arguments;
    }

    List<byte[]> revoke(String request) {
        List<byte[]> arguments = new ArrayList<>(3);
        arguments.add(channelPrefix);
        add(arguments, tombstoneMillis);
        arguments.add(RedisNames.bytes(request));
        return arguments;
    }

    private void claim(List<byte[]> arguments, AcquireCommand command) {
        arguments.add(RedisNames.bytes(command.attempt()));
        arguments.add(RedisNames.bytes(letter(command.mode())));
        add(arguments, command.leaseMillis());
        add(arguments, command.queue() ? aliveMillis() : 0);
        add(arguments, Math.min(command.leaseMillis(), traits.grantTime().toMillis()));
        add(arguments, command.tokens());
    }

    private static String letter(ClaimMode mode) {
        return switch (mode) {
            case EXCLUSIVE -> "X";
            case FAIR -> "F";
            case READ -> "R";
            case WRITE -> "W";
        };
    }

    private long notAfter(long sent) {
        return sent / 1_000 + traits.commandTimeout().toMillis();
    }

    private static void add(List<byte[]> arguments, long number) {
        arguments.add(RedisNames.bytes(Long.toString(number)));
    }
}
