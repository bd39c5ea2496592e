/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.testing.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Scripts that are called without a driver, for one lock. */
record ScriptCalls(RedisServer server, String key) {

    /** Returns the reply as the server gives it: a Long, or a List. */
    @Nullable
    Object run(LuaScript script, Object... arguments) {
        List<String> command = new ArrayList<>(List.of("EVAL", script.source(), "1", key));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        return server.command(command.toArray(String[]::new));
    }

    /** Returns the server's time in us. */
    long micros() {
        List<?> time = (List<?>) Objects.requireNonNull(server.command("TIME"));
        return Long.parseLong(time.get(0).toString()) * 1_000_000
                + Long.parseLong(time.get(1).toString());
    }
}
