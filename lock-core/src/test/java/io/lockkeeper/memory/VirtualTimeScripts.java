/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.ModelRun.Call;
import io.lockkeeper.testing.RespConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The scripts on a real server, but for two places of their text: they get the time from a last argument, and what they
 * publish comes back with the reply, as do the records that they leave, and for how long their keys live.
 */
final class VirtualTimeScripts implements AutoCloseable {

    private static final List<String> SCRIPTS = List.of("acquire", "release", "handover", "renew", "revoke", "inspect");
    private static final String BEFORE = """
            local now_us, settings, sent = table.remove(ARGV), table.remove(ARGV), {}
            local function send(channel, message)
              sent[#sent + 1] = channel .. ' ' .. message
            end
            local now_ms = tonumber(string.sub(now_us, 1, -4))
            local function expire(key, life)
              redis.call('SET', 'end of ' .. key, now_ms + life)
              return redis.call('PEXPIRE', key, 86400000)
            end
            local function life_of(key)
              if redis.call('EXISTS', key) == 0 then
                return -2
              end
              return redis.call('GET', 'end of ' .. key) - now_ms
            end
            local function script()
            """;
    private static final String AFTER = """

            end
            local reply = script()
            reply = #reply == 16 and SHORT_FOR or reply
            local records, lives = {}, {}
            for i, key in ipairs(KEYS) do
              lives[i] = life_of(key)
              local raw, fields = redis.call('HGETALL', key), {}
              for at = 1, #raw, 2 do
                local value = raw[at + 1]
                local state = string.sub(value, 2, 2)
                local from = raw[at] == 'lock' and state ~= 'O' and state ~= 'o' and 36 or raw[at] == 'hold' and 55
                if from then
                  local ends = string.sub(now_us, 1, 1) .. string.sub(value, from, from + 8) .. '000'
                  -- Its digits are of the end that is nearest: they begin anew in between.
                  ends = ends - now_ms > 500000000000 and ends - 1000000000000 or ends + 0
                  value = string.sub(value, 1, from - 1) .. '000000000' .. string.sub(value, from + 9)
                  if ends + 0 > lives[i] + now_ms then
                    value = 'lives for ' .. lives[i] .. ' ms, less than it tells: ' .. value
                  end
                end
                if raw[at] ~= 'revoked' and value ~= '' then
                  fields[#fields + 1] = raw[at] .. '=' .. value
                end
              end
              records[i] = lives[i] == -2 and 'absent' or table.concat(fields, '|')
            end
            return { reply, table.concat(sent, '\\n'), table.concat(records, '\\n'), lives }
            """;

    private static final String USUAL = "'ACQUIRED ' .. reply .. ' ' .. string.sub(ARGV[1], 62, 74) .. ' ' .. reply";
    private static final Map<String, String> SHORT_FOR = Map.of(
            "acquire", USUAL,
            "handover", USUAL,
            "release", "'RELEASED ' .. reply");
    /** What is the same in all calls of a store differs here from call to call. */
    private static final Map<String, String> CONSTANTS = Map.ofEntries(
            Map.entry("${lease}", "string.sub(settings, 1, 13)"),
            Map.entry("${tombstone}", "tonumber(string.sub(settings, 15, 27))"),
            Map.entry("${alive}", "tonumber(string.sub(settings, 29, 41))"),
            Map.entry("${grant}", "string.sub(settings, 43, 55)"),
            Map.entry("${channels}", "string.sub(settings, 57)"),
            Map.entry("${life}", "(LEASE + TOMBSTONE)"),
            Map.entry("${longer}", "(LEASE + TOMBSTONE + 3000)"),
            Map.entry("${needed}", "math.ceil((LEASE + TOMBSTONE + 999) / 1000)"),
            Map.entry("${given}", "math.floor((LEASE + TOMBSTONE + 3000) / 1000)"));

    private static final Map<String, List<String>> FAST_PATHS = Map.of(
            "acquire", List.of("acquire-fast", "key-life", "acquire-usual"),
            "release", List.of("release-fast", "grant-next", "release-usual"),
            "handover", List.of("handover-fast", "grant-next", "key-life", "handover-usual"),
            "renew", List.of("key-life", "renew-fast"));

    private static final Pattern LEADING_ZEROS = Pattern.compile(" 0+(?=\\d)");

    private final RespConnection connection;
    private final Map<String, String> hashes = new HashMap<>();

    /**
     * What a script did.
     *
     * @param reply its answer, its parts with a blank between them; of BUSY the first three
     * @param messages what it published, a line each
     * @param records the records that it left, a line for each key
     * @param lives how long the keys live, ms
     */
    record Result(String reply, String messages, String records, List<Long> lives) {}

    VirtualTimeScripts(RespConnection connection) {
        this.connection = connection;
        for (String name : SCRIPTS) {
            hashes.put(name, String.valueOf(connection.command("SCRIPT", "LOAD", altered(name))));
        }
    }

    static String altered(String name) {
        StringBuilder parts = new StringBuilder(read("clock"));
        FAST_PATHS.getOrDefault(name, List.of()).forEach(part -> parts.append(read(part)));
        parts.append(read("record")).append(read(name));
        String source = replaceOnce(
                parts.toString(), "redis.call('TIME')", "{ string.sub(now_us, 1, -7), string.sub(now_us, -6) }", name);
        // Few places: sequences are short.
        source = replaceOnce(source, "local MOST = 64", "local MOST = " + ModelRun.MOST, name);
        source = replaceOnce(source, "local MOST_DEAD = 32", "local MOST_DEAD = " + ModelRun.MOST, name)
                .replace("redis.pcall('PUBLISH', ", "send(")
                .replace("redis.call('PEXPIRE', ", "expire(")
                .replace("redis.pcall('PEXPIRE', ", "expire(")
                .replace("redis.call('PTTL', ", "life_of(");
        for (Map.Entry<String, String> constant : CONSTANTS.entrySet()) {
            source = replaceOnce(source, constant.getKey(), constant.getValue(), name);
        }
        if (source.contains("PUBLISH")) {
            throw new AssertionError("What " + name + ".lua publishes would not come back with its reply");
        }
        return BEFORE + source + AFTER.replace("SHORT_FOR", SHORT_FOR.getOrDefault(name, "reply"));
    }

    private static String replaceOnce(String source, String part, String by, String script) {
        int first = source.indexOf(part);
        if (first < 0 || source.indexOf(part, first + 1) >= 0) {
            throw new AssertionError("The text of " + script + ".lua must have exactly once: " + part);
        }
        return source.replace(part, by);
    }

    private static String read(String name) {
        String file = "/io/lockkeeper/redis/" + name + ".lua";
        try (InputStream script = VirtualTimeScripts.class.getResourceAsStream(file)) {
            if (script == null) {
                throw new AssertionError(file + " is missing from the class path");
            }
            return new String(script.readAllBytes(), StandardCharsets.UTF_8) + "\n";
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Sends calls at given moments, on an empty server, and does not wait for the results. */
    void send(List<Call> calls, List<Long> micros) {
        List<String[]> commands = new ArrayList<>(calls.size() + 1);
        commands.add(new String[] {"FLUSHDB"});
        for (int i = 0; i < calls.size(); i++) {
            Call call = calls.get(i);
            List<String> command = new ArrayList<>(List.of("EVALSHA", hashes.get(call.script())));
            command.add("" + call.keys().size());
            command.addAll(call.keys());
            command.addAll(call.arguments());
            command.add("" + micros.get(i));
            commands.add(command.toArray(String[]::new));
        }
        connection.sendAll(commands);
    }

    /** Waits for the results of all calls that were sent together. */
    List<Result> receive(int calls) {
        connection.receive();
        List<Result> results = new ArrayList<>(calls);
        for (int i = 0; i < calls; i++) {
            results.add(result());
        }
        return results;
    }

    private Result result() {
        List<?> raw;
        try {
            raw = (List<?>) Objects.requireNonNull(connection.receive());
        } catch (RespConnection.ErrorReply error) {
            return new Result(String.valueOf(error.getMessage()), "", "", List.of());
        }
        String reply = String.valueOf(raw.get(0));
        if (reply.startsWith("BUSY")) {
            reply = reply.substring(0, reply.lastIndexOf(' '));
        } else if (reply.startsWith("ACQUIRED")) {
            reply = LEADING_ZEROS.matcher(reply).replaceAll(" ");
        }
        String records = String.valueOf(raw.get(2))
                .lines()
                .map(record -> Stream.of(record.split("\\|")).sorted().collect(Collectors.joining("|")))
                .collect(Collectors.joining("\n"));
        return new Result(
                reply,
                String.valueOf(raw.get(1)),
                records,
                ((List<?>) raw.get(3)).stream().map(Long.class::cast).toList());
    }

    @Override
    public void close() {
        connection.close();
    }
}
