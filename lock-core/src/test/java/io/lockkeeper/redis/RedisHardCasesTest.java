/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
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

    /** As where two versions of the library run side by side. */
    @Test
    void locksAreFoundBesideWhatIsNoLock() {
        LockTemplate one = instance(RedisLockStore.Options.defaults());
        one.acquire("stock");
        try (RespConnection control = server.connect()) {
            control.command("SET", "lockkeeper:lock:cart", "of another library");
        }
        assertThat(one.inspector().find("*", 10)).extracting(LockStatus::name).containsExactly("stock");
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> one.inspector().status("cart"))
                .withMessageContaining("holds something else");
    }

    /** The record of b is ahead of the server's clock, as after a failover to a server whose clock is behind. */
    @Test
    void tokensOfASecondNameRiseWhereItsRecordIsAheadOfTheClock() throws Exception {
        LockTemplate one = instance(RedisLockStore.Options.defaults());
        one.run("b", lease -> {});
        long ahead = (System.currentTimeMillis() + 10_000) * 1_000;
        LockRecord.setToken(server, "lockkeeper:lock:b", ahead);
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
        LockRecord.setToken(server, "lockkeeper:lock:b", ahead);
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

    private List<String> acquire(ScriptCalls calls, String attempt, long sent) {
        return ScriptCalls.texts(calls.acquire(attempt, "X", 60_000, 0, 3_000, 1, sent));
    }

    /** DESIGN 5: a late or doubled command holds a lock for at most the command timeout, never for a lease. */
    @Test
    void aLateCopyHoldsForACommandTimeoutAlsoWhereAllHappenedInOneMillisecond() {
        String a = "clientAAAAAA00000001";
        String b = "clientBBBBBB00000001";
        int copies = 0;
        try (RespConnection connection = server.connect()) {
            ScriptCalls calls = new ScriptCalls(server, "k", connection::command);
            for (int i = 0; i < 5_000; i++) {
                long sent = calls.micros();
                acquire(calls, a, sent);
                calls.release(a, 0, 0);
                boolean late = acquire(calls, b, sent).get(0).equals("LATE");
                calls.release(b, 0, 0);
                List<String> copy = acquire(calls, a, sent);
                if (late || copy.get(0).equals("LATE")) {
                    // The machine had no processor for this test within the command timeout.
                    connection.command("FLUSHALL");
                    continue;
                }
                copies++;
                assertThat(copy.get(0)).isEqualTo("ACQUIRED");
                assertThat(Long.parseLong(copy.get(2)))
                        .as("lease of the copy, try " + i)
                        .isLessThanOrEqualTo(2_000);
                connection.command("FLUSHALL");
            }
        }
        assertThat(copies).isGreaterThan(4_900);
    }

    @Test
    void oneOfManyReadersIsFoundAmongAll() {
        LockTemplate template = instance(RedisLockStore.Options.defaults());
        LockRequest reading = LockRequest.of("report").withMode(LockMode.READ).withLeaseTime(Duration.ofMinutes(5));
        List<LockLease> readers =
                Stream.generate(() -> template.acquire(reading)).limit(101).toList();

        assertThat(readers).allMatch(LockLease::verify).allMatch(LockLease::isHeld);

        readers.forEach(LockLease::close);
    }

    /** The message of the forced release never arrives, and somebody else holds the lock by then. */
    @Test
    void aHoldThatWasTakenAwayUnnoticedIsLostAtItsRelease() throws Exception {
        LockTemplate one = instance(RedisLockStore.Options.defaults());
        LockTemplate two = instance(RedisLockStore.Options.defaults());
        LockLease taken = one.acquire("taken");
        // These scripts tell a channel that is not that of the template's client.
        new ScriptCalls(server, "lockkeeper:lock:taken")
                .run(ScriptCalls.scripts(0, 0).revoke(), "request", "9".repeat(16));
        try (LockLease next = two.acquire("taken")) {
            assertThat(taken.release()).isEqualTo(ReleaseResult.LOST);
            assertThat(next.verify()).isTrue();
        }
    }
}
