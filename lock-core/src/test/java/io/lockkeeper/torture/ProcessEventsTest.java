/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.LockRecord;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Processes that die, stop and leave: what that costs the others, and what those who wake find. */
class ProcessEventsTest {

    /** A JVM alone may need half a minute to start where others take the processors. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** A loaded machine is late. */
    private static final Duration SLACK = Duration.ofSeconds(1);

    private static final Duration GRANT_TIME = LockingProcess.LEASE.dividedBy(2);
    private static final Duration POLL_INTERVAL = LockingProcess.LEASE.dividedBy(2);
    private static final String NAME = "events";

    private final RedisServer server = RedisServer.start();
    private final LockTemplate here = LockingProcess.template(Connections.JEDIS, server.port(), Duration.ZERO);
    private final List<JavaProcess> processes = new ArrayList<>();

    @AfterEach
    void stop() {
        processes.forEach(JavaProcess::close);
        here.close();
        server.close();
    }

    private JavaProcess process(Connections driver, Duration shutdownWait) {
        JavaProcess process = JavaProcess.start(
                LockingProcess.class, driver.name(), "" + server.port(), "" + shutdownWait.toMillis());
        processes.add(process);
        return process;
    }

    private static JavaProcess ready(JavaProcess process) {
        process.expect("ready", PATIENCE);
        return process;
    }

    private void awaitWaiters(int count) {
        Awaitility.await().atMost(PATIENCE).until(() -> server.waiting("lockkeeper:lock:" + NAME) == count);
    }

    private CompletableFuture<LockLease> waitHere() {
        return here.acquireAsync(LockRequest.of(NAME).withMode(LockMode.FAIR).withWaitTime(PATIENCE));
    }

    /** Asserts that who waits here is served within a time from now; gives the lock back. */
    private static void assertServedWithin(Duration time, CompletableFuture<LockLease> waiting) throws Exception {
        long begin = System.nanoTime();
        LockLease lease = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(time.plus(SLACK));
        assertThat(lease.verify()).isTrue();
        lease.close();
    }

    @ParameterizedTest
    @EnumSource
    void theLockOfAKilledHolderIsFreeWithinItsLease(Connections driver) throws Exception {
        JavaProcess holder = ready(process(driver, Duration.ZERO));
        holder.send("lock " + NAME);
        holder.expect("held", PATIENCE);
        CompletableFuture<LockLease> waiting = waitHere();
        awaitWaiters(1);
        holder.kill();
        assertServedWithin(LockingProcess.LEASE, waiting);
    }

    /** The process is stopped so that it cannot answer to the grant before it is killed. */
    @ParameterizedTest
    @EnumSource
    void theLockOfAKilledGranteeIsFreeWithinTheGrantTimeAndOnePoll(Connections driver) throws Exception {
        JavaProcess grantee = ready(process(driver, Duration.ZERO));
        LockLease held = here.acquire(NAME);
        grantee.send("lock " + NAME);
        awaitWaiters(1);
        CompletableFuture<LockLease> waiting = waitHere();
        awaitWaiters(2);
        grantee.pause();
        held.close();
        assertThat(LockRecord.of(server, "lockkeeper:lock:" + NAME))
                .extracting(LockRecord::state)
                .isEqualTo('G');
        grantee.kill();
        assertServedWithin(GRANT_TIME.plus(POLL_INTERVAL), waiting);
    }

    /** However many of its threads waited, a process that is gone costs its grant time once. */
    @Test
    void theWaitersOfAKilledProcessAreGoneTogether() throws Exception {
        JavaProcess first = process(Connections.JEDIS, Duration.ZERO);
        JavaProcess second = process(Connections.LETTUCE, Duration.ZERO);
        LockLease held = here.acquire(NAME);
        int waiters = 0;
        for (JavaProcess process : List.of(ready(first), ready(second))) {
            for (int i = 0; i < 6; i++) {
                process.send("lock " + NAME);
            }
            waiters += 6;
            awaitWaiters(waiters);
        }
        CompletableFuture<LockLease> waiting = waitHere();
        awaitWaiters(waiters + 1);
        first.kill();
        second.kill();
        held.close();
        assertServedWithin(GRANT_TIME.plus(POLL_INTERVAL).multipliedBy(2), waiting);
    }

    @ParameterizedTest
    @EnumSource
    void aHolderThatWasStoppedPastItsLeaseFindsItLostBeforeItActs(Connections driver) throws Exception {
        try (Register resource = new Register(true)) {
            JavaProcess holder = ready(process(driver, Duration.ZERO));
            holder.send("lock " + NAME);
            String held = holder.expect("held", PATIENCE);
            long oldToken = Long.parseLong(held.substring(held.lastIndexOf(' ') + 1));
            resource.read(NAME, oldToken);
            holder.send("watch " + NAME);
            holder.send("act " + NAME);
            holder.expect("acted", PATIENCE);
            holder.pause();
            LockLease next = here.acquire(LockRequest.of(NAME).withWaitTime(PATIENCE));
            long taken = System.nanoTime();
            resource.write(NAME, next.fencingToken(), 1);
            holder.send("act " + NAME);
            holder.resume();
            assertThat(holder.expect("refused", PATIENCE)).endsWith("LockLostException");
            String lost = holder.output()
                    .lines()
                    .filter(line -> line.startsWith("lost"))
                    .findFirst()
                    .orElseGet(() -> holder.expect("lost", PATIENCE));
            assertThat(Long.parseLong(lost.substring(lost.lastIndexOf(' ') + 1)))
                    .isLessThan(taken);
            assertThat(resource.write(NAME, oldToken, 1)).isEqualTo(Register.STALE);
            assertThat(resource.violations()).isEmpty();
            assertThat(next.verify()).isTrue();
            next.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aProcessThatClosesWaitsForItsBodyAndThenItsLocksAreFree(Connections driver) {
        JavaProcess leaving = ready(process(driver, PATIENCE));
        leaving.send("body " + NAME);
        leaving.expect("in", PATIENCE);
        leaving.send("lock idle");
        leaving.expect("held", PATIENCE);
        leaving.send("close all");
        // Longer than a lease: the locks are renewed while the process waits for its bodies
        assertThat(here.tryAcquire(LockRequest.of(NAME).withWaitTime(LockingProcess.LEASE.plusMillis(500))))
                .isEmpty();
        leaving.send("end " + NAME);
        assertThat(leaving.expect("out", PATIENCE)).isEqualTo("out " + NAME + " true true");
        assertThat(here.tryAcquire(LockRequest.of(NAME).withWaitTime(SLACK))).hasValueSatisfying(LockLease::close);
    }

    @ParameterizedTest
    @EnumSource
    void aProcessThatClosesWaitsForABodyNoLongerThanToldAndReleasesItsLocks(Connections driver) {
        JavaProcess leaving = ready(process(driver, Duration.ofMillis(500)));
        leaving.send("body " + NAME);
        leaving.expect("in", PATIENCE);
        leaving.send("lock other");
        leaving.expect("held", PATIENCE);
        long begin = System.nanoTime();
        leaving.send("close all");
        leaving.expect("closed", PATIENCE);
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isBetween(Duration.ofMillis(500), Duration.ofMillis(500).plus(SLACK));
        assertThat(here.tryAcquire(NAME)).hasValueSatisfying(LockLease::close);
        assertThat(here.tryAcquire("other")).hasValueSatisfying(LockLease::close);
        leaving.send("end " + NAME);
        assertThat(leaving.expect("out", PATIENCE)).isEqualTo("out " + NAME + " true false");
    }
}
