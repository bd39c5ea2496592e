/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import io.lockkeeper.testing.RedisServer;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What Redis tells of itself at one moment, or between two.
 *
 * @param cpuNanos CPU time
 * @param memory bytes in use
 * @param commands how often each command ran, and how long; those within scripts are counted by themselves too
 */
record ServerFigures(long cpuNanos, long memory, Map<String, Command> commands) {

    private static final Pattern CPU = Pattern.compile("used_cpu_(?:user|sys):([0-9.]+)");
    private static final Pattern MEMORY = Pattern.compile("used_memory:(\\d+)");
    private static final Pattern COMMAND = Pattern.compile("cmdstat_([^:]+):calls=(\\d+),usec=(\\d+)");
    private static final Set<String> OURS = Set.of("info", "config|resetstat", "dbsize", "ping");
    private static final Command NEVER = new Command(0, 0);

    /**
     * One command.
     *
     * @param calls how often it ran
     * @param micros how long all calls took
     */
    record Command(long calls, long micros) {

        private Command since(Command before) {
            return new Command(calls - before.calls, micros - before.micros);
        }
    }

    static ServerFigures of(RedisServer redis) {
        String info = String.valueOf(redis.command("INFO", "everything"));
        double seconds = 0;
        Matcher cpu = CPU.matcher(info);
        while (cpu.find()) {
            seconds += Double.parseDouble(cpu.group(1));
        }
        Matcher memory = MEMORY.matcher(info);
        Map<String, Command> commands = new HashMap<>();
        Matcher command = COMMAND.matcher(info);
        while (command.find()) {
            commands.put(
                    command.group(1), new Command(Long.parseLong(command.group(2)), Long.parseLong(command.group(3))));
        }
        return new ServerFigures((long) (seconds * 1e9), memory.find() ? Long.parseLong(memory.group(1)) : 0, commands);
    }

    /** Returns what came since an earlier moment. */
    ServerFigures since(ServerFigures before) {
        Map<String, Command> later = new HashMap<>();
        commands.forEach((name, command) -> later.put(name, command.since(before.command(name))));
        return new ServerFigures(cpuNanos - before.cpuNanos, memory - before.memory, later);
    }

    Command command(String name) {
        return commands.getOrDefault(name, NEVER);
    }

    /** Returns all scripts together, by hash and by text. */
    Command scripts() {
        Command hash = command("evalsha");
        Command text = command("eval");
        return new Command(hash.calls + text.calls, hash.micros + text.micros);
    }

    /** Returns how many commands ran, those of scripts included, without those that only measure. */
    long calls() {
        return commands.entrySet().stream()
                .filter(entry -> !OURS.contains(entry.getKey()))
                .mapToLong(entry -> entry.getValue().calls)
                .sum();
    }
}
