/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** How long waits last, and what they leave behind. */
class RedisWaitTest {

    private static final String NAME = "waited for";
    private static final String KEY = "lockkeeper:lock:" + NAME;

    private RedisServer server;
    private RedisConnectionFactory connections;
    private LockTemplate holder;
    private LockTemplate waiting;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        connections = Connections.JEDIS.to(server.port());
        holder = template();
        waiting = template();
    }

    @AfterEach
    void stop() {
        waiting.close();
        holder.close();
        Connections.close(connections);
        server.close();
    }

    private LockTemplate template() {
        return LockTemplate.builder(new RedisLockStore(connections, RedisContracts.PATIENT))
                .shutdownWait(Duration.ZERO)
                .build();
    }

    @Test
    void aWaitOfTwoSecondsEndsAfterTwoSecondsAlsoAmongLocalCompetitors() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(50);
        try (LockLease held = holder.acquire(NAME)) {
            List<Future<Duration>> waits = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                LockMode mode = i % 5 == 0 ? LockMode.FAIR : LockMode.EXCLUSIVE;
                LockTemplate mine = i % 10 == 0 ? holder : waiting;
                waits.add(threads.submit(() -> timed(mine, mode)));
            }
            List<Duration> lengths = new ArrayList<>();
            for (Future<Duration> wait : waits) {
                lengths.add(wait.get(60, TimeUnit.SECONDS));
            }
            Collections.sort(lengths);
            assertThat(lengths.get(0)).isGreaterThanOrEqualTo(Duration.ofSeconds(2));
            // Two waits, one after the other, would take four
            assertThat(lengths.get(49)).isLessThan(Duration.ofMillis(3_900));
            assertThat(held.isHeld()).isTrue();
            assertThat(server.waiting(KEY)).isZero();
        } finally {
            threads.shutdownNow();
        }
    }

    private static Duration timed(LockTemplate template, LockMode mode) {
        LockRequest request = LockRequest.of(NAME).withMode(mode).withWaitTime(Duration.ofSeconds(2));
        long begin = System.nanoTime();
        assertThatThrownBy(() -> template.acquire(request)).isInstanceOf(LockNotAcquiredException.class);
        return Duration.ofNanos(System.nanoTime() - begin);
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR"})
    void anInterruptedWaiterLeavesNoPlaceInTheQueue(LockMode mode) throws Exception {
        try (LockLease held = holder.acquire(NAME)) {
            CompletableFuture<Boolean> flag = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                try {
                    waiting.acquire(LockRequest.of(NAME).withMode(mode));
                } catch (LockInterruptedException interrupted) {
                    flag.complete(Thread.currentThread().isInterrupted());
                }
            });
            thread.start();
            Awaitility.await().until(() -> server.waiting(KEY) > 0);
            thread.interrupt();
            assertThat(flag.get(10, TimeUnit.SECONDS)).isTrue();
            // The caller does not wait for that where its question was not answered yet.
            Awaitility.await().until(() -> server.waiting(KEY) == 0);
            assertThat(held.isHeld()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR"})
    void callersThatGaveUpNeverOwnTheLock(LockMode mode) throws Exception {
        for (int round = 0; round < 100; round++) {
            LockLease held = holder.acquire(NAME);
            CompletableFuture<LockLease> cancelled =
                    waiting.acquireAsync(LockRequest.of(NAME).withMode(mode));
            CompletableFuture<LockLease> timedOut =
                    waiting.acquireAsync(LockRequest.of(NAME).withMode(mode).withWaitTime(Duration.ofMillis(2)));
            CompletableFuture<Void> release = CompletableFuture.runAsync(held::close);
            boolean gone = cancelled.cancel(true);
            release.get(20, TimeUnit.SECONDS);
            timedOut.handle((lease, failure) -> {
                        if (lease != null) {
                            lease.close();
                        }
                        return null;
                    })
                    .get(20, TimeUnit.SECONDS);
            if (!gone) {
                cancelled.join().close();
            }
            try (LockLease next = holder.acquire(LockRequest.of(NAME).withWaitTime(Duration.ofSeconds(10)))) {
                assertThat(next.verify()).isTrue();
            }
        }
    }

    @Test
    void aLostGrantIsFoundByPolling() {
        RedisLockStore.Options options = RedisLockStore.Options.defaults()
                .withPollInterval(Duration.ofMillis(500))
                .withKeyPrefix("polled");
        try (LockTemplate first = template(options);
                LockTemplate second = template(options)) {
            LockLease held = first.acquire(NAME);
            CompletableFuture<LockLease> next = second.acquireAsync(LockRequest.of(NAME));
            Awaitility.await().until(() -> server.waiting("polled:lock:" + NAME) > 0);
            server.command("ACL", "SETUSER", "default", "resetchannels");
            held.close();
            Awaitility.await().atMost(Duration.ofSeconds(4)).until(next::isDone);
            next.join().close();
        }
    }

    private LockTemplate template(RedisLockStore.Options options) {
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .shutdownWait(Duration.ZERO)
                .build();
    }
}
