/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreTraits;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** The ARGV of each script, as its opening comment describes them: what belongs together is one text of fixed parts. */
final class Arguments {

    private static final int ATTEMPT = 20;
    private static final int MILLIS = 13;
    private static final int MICROS = 16;
    private static final int TOKENS = 5;
    private static final int CLAIM = 2 * MICROS + 2 + ATTEMPT + 1 + TOKENS + 1 + MILLIS;
    private static final int RENEWAL = MILLIS + 1 + MICROS;

    private final byte[] text;
    private int end;

    private Arguments(int length) {
        text = new byte[length];
    }

    /** Of a hold that Redis keeps for longer than asked, at a server's time, us; run id 0: any server may give it. */
    static List<byte[]> acquire(AcquireCommand command, long longerMillis, StoreTraits traits, long sent, String run) {
        byte[] claim = new Arguments(CLAIM).claim(command, longerMillis, traits, sent).text;
        return run.equals("0") ? List.of(claim) : List.of(claim, RedisNames.bytes(run));
    }

    static List<byte[]> handOver(HandOverCommand command, long longerMillis, StoreTraits traits, long sent) {
        Arguments arguments =
                new Arguments(CLAIM + ATTEMPT + MICROS + 1).claim(command.next(), longerMillis, traits, sent);
        return List.of(arguments
                .add(command.attempt(), ATTEMPT)
                .add(command.lastToken(), MICROS)
                .add(command.ahead() ? 1 : 0, 1)
                .text);
    }

    static List<byte[]> release(ReleaseCommand command) {
        byte[] ending =
                new Arguments(ATTEMPT + MICROS).add(command.attempt(), ATTEMPT).add(command.lastToken(), MICROS).text;
        return command.keepMillis() == 0
                ? List.of(ending)
                : List.of(ending, new Arguments(MILLIS).add(command.keepMillis(), MILLIS).text);
    }

    static List<byte[]> renew(List<RenewCommand> commands, long longerMillis) {
        Arguments attempts = new Arguments(ATTEMPT * commands.size());
        Arguments asked = new Arguments(RENEWAL * commands.size());
        boolean same = true;
        for (RenewCommand command : commands) {
            attempts.add(command.attempt(), ATTEMPT);
            asked.add(longer(command.leaseMillis(), longerMillis), MILLIS)
                    .add(command.exact() ? 1 : 0, 1)
                    .add(command.leastToken(), MICROS);
            same = same && Arrays.equals(asked.text, 0, RENEWAL, asked.text, asked.end - RENEWAL, asked.end);
        }
        return List.of(attempts.text, same ? Arrays.copyOf(asked.text, RENEWAL) : asked.text);
    }

    static List<byte[]> revoke(String request, StoreTraits traits, long sent) {
        return List.of(RedisNames.bytes(request), new Arguments(MICROS).add(notAfter(traits, sent), MICROS).text);
    }

    private Arguments claim(AcquireCommand command, long longerMillis, StoreTraits traits, long sent) {
        return add(notAfter(traits, sent), MICROS)
                .add(sent, MICROS)
                .add(letter(command.mode()), 1)
                .add(command.queue() ? 1 : 0, 1)
                .add(command.attempt(), ATTEMPT)
                .add(" ", 1)
                .add(command.tokens(), TOKENS)
                .add(" ", 1)
                .add(longer(command.leaseMillis(), longerMillis), MILLIS);
    }

    static String letter(ClaimMode mode) {
        return switch (mode) {
            case EXCLUSIVE -> "X";
            case FAIR -> "F";
            case READ -> "R";
            case WRITE -> "W";
        };
    }

    private static long longer(long millis, long byMillis) {
        return Math.max(millis, millis + byMillis);
    }

    /** Returns the last microsecond at which a command may run. */
    private static long notAfter(StoreTraits traits, long sent) {
        return (sent / 1_000 + traits.commandTimeout().toMillis()) * 1_000 + 999;
    }

    private Arguments add(String part, int width) {
        byte[] bytes = part.getBytes(StandardCharsets.ISO_8859_1);
        if (bytes.length != width) {
            throw new IllegalArgumentException(
                    "'" + part + "' must have " + width + " characters, but has " + bytes.length);
        }
        System.arraycopy(bytes, 0, text, end, width);
        end += width;
        return this;
    }

    /** Adds a number with a fixed count of digits; a larger number becomes the largest that fits. */
    private Arguments add(long number, int width) {
        int begin = end;
        end += width;
        long rest = number;
        for (int i = end - 1; i >= begin; i--) {
            text[i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        if (rest > 0) {
            Arrays.fill(text, begin, end, (byte) '9');
        }
        return this;
    }
}
