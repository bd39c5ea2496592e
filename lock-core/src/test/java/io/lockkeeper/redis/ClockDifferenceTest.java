/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.Grant;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.IgnoredMessages;
import io.lockkeeper.testing.RedisCluster;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** A slot that moves to a master whose clock is ahead of that of the old one: the record then ends sooner. */
@Timeout(30)
class ClockDifferenceTest {

    private static final Duration AHEAD = Duration.ofMillis(800);
    private static final Duration LEASE = Duration.ofSeconds(1);
    private static final AtomicInteger ATTEMPTS = new AtomicInteger();

    private static RedisCluster cluster;

    private final List<AutoCloseable> opened = new ArrayList<>();

    @BeforeAll
    static void startCluster() {
        cluster = RedisCluster.startWithClockAhead(AHEAD);
    }

    @AfterAll
    static void stopCluster() {
        cluster.close();
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    /** Skips a test where the clock of a server cannot be set: no C compiler, or another platform. */
    private static void requireClockAhead() {
        assumeThat(millis(cluster.masters().get(2)) - millis(cluster.masters().get(0)))
                .isGreaterThan(AHEAD.toMillis() / 2);
    }

    private static long millis(RedisServer server) {
        List<?> time = (List<?>) Objects.requireNonNull(server.command("TIME"));
        return Long.parseLong(time.get(0) + "000") + Long.parseLong(String.valueOf(time.get(1))) / 1_000;
    }

    private RedisConnectionFactory connections(Connections driver) {
        RedisConnectionFactory connections = driver.toCluster(cluster.ports());
        opened.add(() -> Connections.close(connections));
        return connections;
    }

    private LockTemplate template(Connections driver) {
        LockTemplate template = LockTemplate.builder(
                        new RedisLockStore(connections(driver), RedisLockStore.Options.defaults()))
                .build();
        opened.add(0, template);
        return template;
    }

    /** Returns a name whose record is not at the master whose clock is ahead; each in a slot of its own. */
    private static String name() {
        int number = ATTEMPTS.incrementAndGet();
        String name = "moved " + number;
        return cluster.masterOf("lockkeeper:lock:" + name) == cluster.masters().get(2) ? name() : name;
    }

    private static void move(String name) {
        String key = "lockkeeper:lock:" + name;
        cluster.moveSlot(key, cluster.masterOf(key), cluster.masters().get(2));
    }

    @ParameterizedTest
    @EnumSource
    void aHoldBeganByTheClockOfItsMaster(Connections driver) {
        requireClockAhead();
        RedisServer ahead = cluster.masters().get(2);
        String name = Stream.generate(() -> "ahead " + ATTEMPTS.incrementAndGet())
                .filter(candidate -> cluster.masterOf("lockkeeper:lock:" + candidate) == ahead)
                .findFirst()
                .orElseThrow();
        LockTemplate template = template(driver);
        Instant before = Instant.ofEpochMilli(millis(ahead));
        try (LockLease lease = template.acquire(name)) {
            LockInstance holder =
                    template.inspector().heldHere().get(0).holders().get(0);
            assertThat(holder.fencingToken()).isEqualTo(lease.fencingToken());
            assertThat(holder.heldSince()).isBetween(before, Instant.ofEpochMilli(millis(ahead)));
        }
    }

    @ParameterizedTest
    @EnumSource
    void theHolderBelievesNoLongerThanTheRecordLastsOnTheOtherMaster(Connections driver) {
        requireClockAhead();
        LockTemplate holder = template(driver);
        LockTemplate next = template(driver);
        String name = name();
        LockLease held = holder.acquire(LockRequest.of(name).withLeaseTime(LEASE));
        move(name);
        assertThat(next.acquire(LockRequest.of(name).withWaitTime(LEASE.multipliedBy(4))))
                .satisfies(taken -> assertThat(held.isHeld()).isFalse())
                .satisfies(LockLease::close);
    }

    /** How a hold began, or went on, before its slot moved. */
    enum Begun {
        ACQUIRED,
        RENEWED,
        GRANTED
    }

    @ParameterizedTest
    @EnumSource
    void aHoldLastsUntilItsEndHoweverItBegan(Begun begun) throws Exception {
        requireClockAhead();
        Client holder = new Client();
        Client next = new Client();
        String name = name();
        long endNanos = holder.hold(name, begun);
        move(name);
        Awaitility.await().pollInterval(Duration.ofMillis(2)).until(() -> next.tries(name));
        assertThat(System.nanoTime() - endNanos).isPositive();
    }

    @ParameterizedTest
    @EnumSource
    void aDifferenceIsToldBeforeItMatters(Connections driver) {
        requireClockAhead();
        Logger logger = (Logger) LoggerFactory.getLogger(RedisLockStore.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        logger.setLevel(Level.WARN);
        try {
            template(driver);
            assertThat(List.copyOf(lines.list))
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .anyMatch(line ->
                            line.matches("The clocks of the cluster's masters differ by (7|8)\\d\\d ms.*NTP.*"));
        } finally {
            logger.detachAppender(lines);
            logger.setLevel(null);
        }
    }

    /** A store of its own, without an engine. */
    private final class Client extends IgnoredMessages {

        private final String id = ClientIds.next();
        private final CompletableFuture<Grant> granted = new CompletableFuture<>();
        private final RedisLockStore store =
                new RedisLockStore(connections(Connections.JEDIS), RedisLockStore.Options.defaults());

        Client() {
            opened.add(0, store);
            store.open(StoredInstance.ofThisProcess(id, "test", ""), Duration.ofSeconds(6), this);
        }

        private AcquireReply ask(String name, String attempt, Duration lease, boolean queue) throws Exception {
            return store.acquire(
                            new AcquireCommand(List.of(name), attempt, ClaimMode.EXCLUSIVE, lease.toMillis(), queue, 1))
                    .get(5, TimeUnit.SECONDS);
        }

        private String attempt() {
            return id + String.format("%08d", ATTEMPTS.incrementAndGet());
        }

        boolean tries(String name) throws Exception {
            return ask(name, attempt(), LEASE, false) instanceof AcquireReply.Acquired;
        }

        /** Holds a lock, and returns until when it may believe that, without the margin of the engine. */
        long hold(String name, Begun begun) throws Exception {
            String attempt = attempt();
            String before = attempt();
            if (begun == Begun.GRANTED) {
                ask(name, before, Duration.ofSeconds(30), false);
            }
            long sent = System.nanoTime();
            AcquireReply reply = ask(name, attempt, LEASE, true);
            long millis =
                    switch (begun) {
                        case ACQUIRED -> ((AcquireReply.Acquired) reply).leaseMillis();
                        case RENEWED -> {
                            sent = System.nanoTime();
                            RenewCommand renewal = new RenewCommand(name, attempt, LEASE.toMillis(), true, 0);
                            assertThat(store.renew(List.of(renewal)).get(0)).succeedsWithin(Duration.ofSeconds(5));
                            yield LEASE.toMillis();
                        }
                        case GRANTED -> {
                            store.release(new ReleaseCommand(List.of(name), before, 0, 0));
                            yield granted.get(5, TimeUnit.SECONDS).untilStoreMillis()
                                    - ((AcquireReply.Queued) reply).storeMillis();
                        }
                    };
            assertThat(millis).isPositive();
            return sent + TimeUnit.MILLISECONDS.toNanos(millis);
        }

        @Override
        public void granted(Grant grant) {
            granted.complete(grant);
        }
    }
}
