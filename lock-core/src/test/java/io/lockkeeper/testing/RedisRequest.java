/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.net.ProtocolException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;

/**
 * One command on its way to Redis.
 *
 * @param arguments the command's name and its arguments
 */
public record RedisRequest(List<String> arguments) {

    static RedisRequest of(RespReader.Frame frame) throws ProtocolException {
        if (frame.value() instanceof List<?> arguments && !arguments.isEmpty()) {
            return new RedisRequest(arguments.stream().map(String::valueOf).toList());
        }
        throw new ProtocolException("Not a request: " + frame.value());
    }

    /** The command's name in capitals, such as EVALSHA. */
    public String command() {
        return arguments.get(0).toUpperCase(Locale.ROOT);
    }

    /** Matches every request. */
    public static Predicate<RedisRequest> any() {
        return request -> true;
    }

    /** Matches the commands of these names, in either case. */
    public static Predicate<RedisRequest> command(String... names) {
        return request -> Arrays.stream(names).anyMatch(request.command()::equalsIgnoreCase);
    }

    /** Matches requests one of whose arguments contains a text. */
    public static Predicate<RedisRequest> containing(String text) {
        return request -> request.arguments.stream().skip(1).anyMatch(argument -> argument.contains(text));
    }
}
