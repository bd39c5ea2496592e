/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks once, in the background, for what makes locks unsafe or slow on these servers, and says what to change. It asks
 * with INFO, and by trying commands that change nothing; it says nothing where it may not ask.
 */
final class ServerChecks {

    private static final Logger log = LoggerFactory.getLogger(RedisLockStore.class);

    /** Less than the margin of the shortest lease: more may give a lock twice after a failover or a moved slot. */
    private static final long MOST_CLOCK_DIFFERENCE_MILLIS = 50;

    private static final Pattern TOO_OLD = Pattern.compile("([0-5]|6\\.[01])\\..*");
    private static final Pattern COMMAND = Pattern.compile("run the '([^']+)' command");

    private final RedisCommands commands;
    private final RedisNames names;
    private final String clientId;
    private final boolean acks;
    private final InstantSource clock;
    private final Set<String> refused = new TreeSet<>();
    private @Nullable CompletableFuture<?> examination;

    ServerChecks(RedisCommands commands, RedisNames names, String clientId, boolean acks, InstantSource clock) {
        this.commands = commands;
        this.names = names;
        this.clientId = clientId;
        this.acks = acks;
        this.clock = clock;
    }

    /** Begins to look, once, and returns at once. The future is completed when everything was said, and never fails. */
    synchronized CompletableFuture<?> examine() {
        if (examination != null) {
            return examination;
        }
        long asked = clock.millis();
        CompletableFuture<?> servers = commands.info().thenAccept(told -> warnOfServers(told, asked));
        List<byte[]> own = List.of(names.instance(clientId));
        // By its hash first, as scripts over locks go: that is a right of its own.
        CompletableFuture<?> rights = commands.eval(LuaScript.of("rights"), List.of(names.lock("")), List.of(), 0)
                .handle(this::noteTried)
                .thenCompose(next -> commands.get(own))
                .handle((answer, failure) -> note(failure))
                .thenAccept(next -> warnOfRights());
        CompletableFuture<?> begun = CompletableFuture.allOf(servers, rights).exceptionally(failure -> {
            log.debug("Not all is known of Redis and its user", failure);
            return null;
        });
        examination = begun;
        return begun;
    }

    void warnOfServers(Map<String, Properties> servers, long asked) {
        long answered = clock.millis();
        Map<String, List<String>> findings = new LinkedHashMap<>();
        servers.forEach((server, info) -> findings(info, asked, answered)
                .forEach(finding -> findings.computeIfAbsent(finding, first -> new ArrayList<>())
                        .add(server)));
        findings.forEach((finding, where) -> {
            String place = String.join(", ", where);
            log.warn("Redis{}: {}", place.isEmpty() ? "" : " " + place, finding);
        });
    }

    private List<String> findings(Properties info, long asked, long answered) {
        List<String> findings = new ArrayList<>();
        String policy = info.getProperty("maxmemory_policy", "noeviction");
        if (!policy.equals("noeviction")) {
            findings.add(
                    "maxmemory-policy is " + policy + ", so that Redis may drop locks that are held when its memory"
                            + " is full; a volatile-* policy too, because the keys of locks expire. Set maxmemory-policy"
                            + " noeviction, or keep locks on a Redis of their own.");
        }
        String version = info.getProperty("redis_version", "");
        if (TOO_OLD.matcher(version).matches()) {
            findings.add("this is version " + version + ", and the oldest that is supported is 6.2: upgrade it.");
        }
        String micros = info.getProperty("server_time_usec");
        if (micros != null) {
            long time = Long.parseLong(micros) / 1_000;
            long ahead = time > answered ? time - answered : Math.min(0, time - asked);
            if (Math.abs(ahead) > MOST_CLOCK_DIFFERENCE_MILLIS) {
                findings.add("its clock is " + Math.abs(ahead) + " ms " + (ahead > 0 ? "ahead of" : "behind")
                        + " that of this machine. Let NTP set both: a failover, or the move of a slot, to a server with another"
                        + " clock ends locks too early or too late.");
            }
        }
        // Redis tells how many replicas are good only where it wants any.
        if (acks && info.containsKey("connected_slaves") && !info.containsKey("min_slaves_good_slaves")) {
            findings.add("min-replicas-to-write is 0 although locks wait for acks of replicas: a master that was cut"
                    + " off goes on taking writes, which are lost. Set min-replicas-to-write 1 and"
                    + " min-replicas-max-lag 10.");
        }
        return findings;
    }

    private Set<String> noteTried(@Nullable Object tried, @Nullable Throwable failure) {
        if (tried == null) {
            return note(failure);
        }
        String[] words = new String(ScriptReply.text(tried), StandardCharsets.US_ASCII).split(" ", -1);
        Stream.of(words).skip(1).forEach(word -> refused.add(word.equals("keys") ? names.keys() : "+" + word));
        return refused;
    }

    private Set<String> note(@Nullable Throwable failure) {
        if (failure != null && Failures.says(failure, "NOPERM")) {
            Matcher command = COMMAND.matcher(Failures.rootMessage(failure));
            refused.add(command.find() ? "+" + command.group(1) : names.keys());
        }
        return refused;
    }

    private void warnOfRights() {
        if (!refused.isEmpty()) {
            log.warn(
                    "The Redis user lacks rights, without which locks do not work or their holders are not known: {}. Give it"
                            + " all of these: {}",
                    String.join(" ", refused),
                    names.rights());
        }
    }
}
