/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.redis.RedisLockStore.Options;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreTraits;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The ARGV of each script, in the order in which its opening comment names them. What is the same in all commands is one
 * argument: Redis takes time for each.
 */
final class Arguments {

    /** A waiter that has not polled for so many intervals is taken for dead. */
    private static final int ALIVE_POLLS = 4;

    private static final int MILLIS_DIGITS = 13;
    private static final int MICROS_DIGITS = 16;
    private static final int TOKENS_DIGITS = 5;
    private static final byte[] YES = RedisNames.bytes("1");
    private static final byte[] NO = RedisNames.bytes("0");

    private final StoreTraits traits;
    private final byte[] settings;
    private final long tombstoneMillis;

    Arguments(StoreTraits traits, Options options, RedisNames names, Duration leaseTime) {
        this.traits = traits;
        this.tombstoneMillis = options.tombstoneTime().toMillis();
        this.settings = settings(traits, options, names, leaseTime);
    }

    private static byte[] settings(StoreTraits traits, Options options, RedisNames names, Duration leaseTime) {
        ByteArrayOutputStream settings = new ByteArrayOutputStream();
        LongStream.of(
                        leaseTime.toMillis(),
                        options.tombstoneTime().toMillis(),
                        ALIVE_POLLS * traits.pollInterval().toMillis(),
                        traits.grantTime().toMillis())
                .forEach(number -> {
                    settings.writeBytes(digits(number, MILLIS_DIGITS));
                    settings.write(' ');
                });
        settings.writeBytes(names.channelPrefix());
        return settings.toByteArray();
    }

    /** Returns how long an attempt that waits keeps what it has without asking again. */
    long aliveMillis() {
        return ALIVE_POLLS * traits.pollInterval().toMillis();
    }

    List<byte[]> acquire(AcquireCommand command, long sent, String run) {
        List<byte[]> arguments = new ArrayList<>(10);
        claim(arguments, command);
        arguments.add(digits(sent, MICROS_DIGITS));
        arguments.add(notAfter(sent));
        arguments.add(command.queue() ? YES : NO);
        arguments.add(life(command));
        arguments.add(RedisNames.bytes(run));
        arguments.add(settings);
        return arguments;
    }

    List<byte[]> handOver(HandOverCommand command, long sent) {
        List<byte[]> arguments = new ArrayList<>(10);
        arguments.add(RedisNames.bytes(command.attempt()));
        add(arguments, command.lastToken());
        claim(arguments, command.next());
        arguments.add(notAfter(sent));
        arguments.add(command.ahead() ? YES : NO);
        arguments.add(life(command.next()));
        arguments.add(settings);
        return arguments;
    }

    List<byte[]> release(ReleaseCommand command) {
        List<byte[]> arguments = new ArrayList<>(4);
        arguments.add(RedisNames.bytes(command.attempt()));
        add(arguments, command.lastToken());
        add(arguments, command.keepMillis());
        arguments.add(settings);
        return arguments;
    }

    List<byte[]> renew(List<RenewCommand> commands) {
        List<byte[]> arguments = new ArrayList<>(1 + 4 * commands.size());
        for (RenewCommand command : commands) {
            arguments.add(RedisNames.bytes(command.attempt()));
            arguments.add(digits(command.leaseMillis(), MILLIS_DIGITS));
            arguments.add(command.exact() ? YES : NO);
            add(arguments, command.leastToken());
        }
        arguments.add(settings);
        return arguments;
    }

    List<byte[]> revoke(String request, long sent) {
        return List.of(RedisNames.bytes(request), notAfter(sent), settings);
    }

    private static void claim(List<byte[]> arguments, AcquireCommand command) {
        arguments.add(RedisNames.bytes(command.attempt()));
        arguments.add(RedisNames.bytes(letter(command.mode())));
        arguments.add(digits(command.leaseMillis(), MILLIS_DIGITS));
        arguments.add(digits(command.tokens(), TOKENS_DIGITS));
    }

    private static String letter(ClaimMode mode) {
        return switch (mode) {
            case EXCLUSIVE -> "X";
            case FAIR -> "F";
            case READ -> "R";
            case WRITE -> "W";
        };
    }

    /** Returns how long a key lives while its lock is held for the lease, ms. */
    private byte[] life(AcquireCommand command) {
        return RedisNames.bytes(Long.toString(command.leaseMillis() + tombstoneMillis));
    }

    /** Returns the last microsecond at which a command may run. */
    private byte[] notAfter(long sent) {
        return digits((sent / 1_000 + traits.commandTimeout().toMillis()) * 1_000 + 999, MICROS_DIGITS);
    }

    /** Returns a number in so many digits; one that has more is the largest that has as many. */
    private static byte[] digits(long number, int width) {
        byte[] digits = new byte[width];
        long rest = number;
        for (int i = width - 1; i >= 0; i--) {
            digits[i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        if (rest > 0) {
            Arrays.fill(digits, (byte) '9');
        }
        return digits;
    }

    private static void add(List<byte[]> arguments, long number) {
        arguments.add(RedisNames.bytes(Long.toString(number)));
    }
}
