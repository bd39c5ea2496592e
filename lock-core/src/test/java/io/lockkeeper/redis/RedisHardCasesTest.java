/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisConnectionFactory;

class RedisHardCasesTest {

    private final RedisServer server = RedisServer.start();
    private final RedisConnectionFactory connections = Connections.JEDIS.to(server.port());
    private final List<LockTemplate> templates = new ArrayList<>();

    private LockTemplate instance(RedisLockStore.Options options) {
        LockTemplate template = LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
        templates.add(template);
        return template;
    }

    @AfterEach
    void close() throws Exception {
        templates.forEach(LockTemplate::close);
        Connections.close(connections);
        server.close();
    }

    /** Locks that were released in the last 30 s must not hide those that are held. */
    @Test
    void heldLocksAreFoundAmongManyThatWereReleased() {
        LockTemplate one = instance(RedisLockStore.Options.defaults());
        for (int i = 0; i < 1_000; i++) {
            one.run("job:" + i, lease -> {});
        }
        for (int i = 0; i < 5; i++) {
            one.acquire("job:held:" + i);
        }
        assertThat(one.inspector().find("job:*", 5))
                .extracting(LockStatus::name)
                .hasSize(5);
    }

    /** The record of b is ahead of the server's clock, as after a failover to a server whose clock is behind. */
    @Test
    void tokensOfASecondNameRiseWhereItsRecordIsAheadOfTheClock() throws Exception {
        LockTemplate one = instance(RedisLockStore.Options.defaults());
        one.run("b", lease -> {});
        long ahead = (System.currentTimeMillis() + 10_000) * 1_000;
        server.command("HSET", "lockkeeper:lock:b", "token", Long.toString(ahead));
        long inSet;
        try (LockLease set = one.acquire(LockRequest.of("a", "b"))) {
            inSet = set.fencingToken("b");
            assertThat(inSet).isGreaterThan(ahead);
        }
        assertThat(one.acquire("b").fencingToken()).isGreaterThan(inSet);
    }

    /** The control: one name. */
    @Test
    void tokensOfOneNameRiseWhereItsRecordIsAheadOfTheClock() throws Exception {
        LockTemplate one = instance(RedisLockStore.Options.defaults());
        one.run("b", lease -> {});
        long ahead = (System.currentTimeMillis() + 10_000) * 1_000;
        server.command("HSET", "lockkeeper:lock:b", "token", Long.toString(ahead));
        long inSet;
        try (LockLease set = one.acquire(LockRequest.of("b"))) {
            inSet = set.fencingToken("b");
        }
        assertThat(one.acquire("b").fencingToken()).isGreaterThan(inSet);
    }

    /** A short command timeout, which is allowed; nothing fails here, and nobody contends at the same moment. */
    @Test
    void aShortCommandTimeoutDoesNotTurnGrantsIntoFailures() throws Exception {
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withCommandTimeout(Duration.ofMillis(100))
                .withTombstoneTime(Duration.ofSeconds(30));
        LockTemplate one = instance(options);
        LockTemplate two = instance(options);
        List<String> failures = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            for (LockTemplate template : List.of(one, two)) {
                try (LockLease lease = template.acquire("stock")) {
                    lease.ensureHeld();
                } catch (RuntimeException failure) {
                    failures.add(failure.getMessage());
                }
            }
        }
        assertThat(failures.stream()
                        .filter(f -> f.contains("only after the lease had ended"))
                        .limit(1))
                .as("the first of " + failures.size() + " failures")
                .isEmpty();
    }

    private List<String> eval(LuaScript script, String... arguments) {
        List<String> command = new ArrayList<>(List.of("EVAL", script.source(), "1", "k"));
        command.addAll(List.of(arguments));
        return ((List<?>) Objects.requireNonNull(server.command(command.toArray(String[]::new))))
                .stream().map(String::valueOf).toList();
    }

    private List<String> acquire(String attempt, long sent) {
        return eval(
                LuaScript.ACQUIRE,
                attempt,
                "X",
                "60000",
                "0",
                "3000",
                "1",
                Long.toString(sent),
                Long.toString(sent / 1_000 + 2_000),
                "ch:",
                "30000",
                "0");
    }

    /** DESIGN 5: a late or doubled command holds a lock for at most the command timeout, never for a lease. */
    @Test
    void aLateCopyHoldsForACommandTimeoutAlsoWhereAllHappenedInOneMillisecond() {
        String a = "clientAAAAAA00000001";
        String b = "clientBBBBBB00000001";
        int copies = 0;
        for (int i = 0; i < 5_000; i++) {
            List<?> time = (List<?>) Objects.requireNonNull(server.command("TIME"));
            long sent = Long.parseLong(time.get(0).toString()) * 1_000_000
                    + Long.parseLong(time.get(1).toString());
            acquire(a, sent);
            eval(LuaScript.RELEASE, a, "0", "0", "ch:", "30000");
            acquire(b, sent);
            eval(LuaScript.RELEASE, b, "0", "0", "ch:", "30000");
            List<String> copy = acquire(a, sent);
            if (copy.get(0).equals("LATE")) {
                // The machine had no processor for this test within the command timeout.
                continue;
            }
            copies++;
            assertThat(copy.get(0)).isEqualTo("ACQUIRED");
            assertThat(Long.parseLong(copy.get(2)))
                    .as("lease of the copy, try " + i)
                    .isLessThanOrEqualTo(2_000);
            server.command("FLUSHALL");
        }
        assertThat(copies).isGreaterThan(4_900);
    }
}
