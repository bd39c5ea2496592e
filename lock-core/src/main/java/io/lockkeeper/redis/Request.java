/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol.Command;

/**
 * What goes over a connection of Jedis.
 *
 * @param what the command, for messages
 * @param command the command
 * @param arguments all of its arguments
 * @param script of which the command names the hash; null: it names none
 */
record Request(
        String what,
        Command command,
        List<byte[]> arguments,
        @Nullable LuaScript script) {

    static Request of(Command command, byte[]... arguments) {
        return new Request(command.name(), command, List.of(arguments), null);
    }

    /** Runs a script by its hash. */
    static Request of(LuaScript script, List<byte[]> keys, List<byte[]> arguments) {
        List<byte[]> all = new ArrayList<>(3 + keys.size() + arguments.size());
        all.add(RedisNames.bytes(script.sha1()));
        all.add(RedisNames.bytes(Integer.toString(keys.size())));
        all.addAll(keys);
        all.addAll(arguments);
        return new Request(script.name(), Command.EVALSHA, all, script);
    }

    /** Returns the same with the text of the script; null where there is none. */
    @Nullable
    Request asText() {
        if (script == null) {
            return null;
        }
        List<byte[]> all = new ArrayList<>(arguments);
        all.set(0, RedisNames.bytes(script.source()));
        return new Request(what, Command.EVAL, all, null);
    }
}
