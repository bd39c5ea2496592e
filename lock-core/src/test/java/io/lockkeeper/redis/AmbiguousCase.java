/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.redis.AmbiguousCommand.Ambiguity;
import io.lockkeeper.testing.Connections;
import io.lockkeeper.testing.Fault;
import io.lockkeeper.testing.FaultProxy;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * One command of one instance becomes ambiguous, while another instance wants the same lock, or comes when all is over:
 * what happens to a lock in between makes a late command harmless, and must not have to. Nobody may hold it together
 * with another; no count may stay up; and when the first instance wants nothing any more, the record may name it as the
 * owner for no longer than the command timeout.
 */
record AmbiguousCase(AmbiguousCommand command, Ambiguity ambiguity, Connections driver, boolean contended) {

    private static final Duration LEASE = Duration.ofMillis(3_600);
    private static final Duration COMMAND_TIMEOUT = Duration.ofMillis(600);
    private static final Duration LATE = COMMAND_TIMEOUT.plusMillis(200);

    /** An attempt that was given up is released again a command timeout later; nothing but the script stops this. */
    private static final Duration MUCH_TOO_LATE =
            COMMAND_TIMEOUT.multipliedBy(2).plusMillis(200);

    /** What a busy machine may add. With the command timeout, less than the lease. */
    private static final Duration SLACK = Duration.ofMillis(2_200);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int CLIENT = 12;

    /** What one run of the case needs. */
    private record Scene(LockTemplate faulty, LockTemplate sound, FaultProxy network, RedisServer server, String name) {

        String owner() {
            String owner = server.owner("lockkeeper:lock:" + name);
            return owner == null ? "" : owner;
        }

        /** The first connection of a driver may take longer than the command timeout on a loaded machine. */
        private String clientOf(LockTemplate template) {
            return Awaitility.await()
                    .atMost(PATIENCE)
                    .ignoreExceptionsMatching(LockStoreException.class::isInstance)
                    .until(() -> template.execute(name, lease -> owner()), owner -> !owner.isEmpty())
                    .substring(0, CLIENT);
        }
    }

    void run(RedisServer server) throws Exception {
        RedisConnectionFactory direct = driver.to(server.port());
        FaultProxy network = FaultProxy.inFrontOf(server);
        RedisConnectionFactory throughProxy = driver.to(network.port());
        try (LockTemplate faulty = template(throughProxy);
                LockTemplate sound = template(direct)) {
            judge(new Scene(faulty, sound, network, server, "ambiguous " + this));
        } finally {
            network.close();
            Connections.close(throughProxy);
            Connections.close(direct);
        }
    }

    private static LockTemplate template(RedisConnectionFactory connections) {
        RedisLockStore.Options options = RedisLockStore.Options.defaults().withCommandTimeout(COMMAND_TIMEOUT);
        return LockTemplate.builder(new RedisLockStore(connections, options))
                .leaseTime(LEASE)
                // Nothing is passed on locally, so that a release with a local waiter is a hand-over
                .handover(0, Duration.ZERO)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    private void judge(Scene scene) throws Exception {
        String faultyClient = scene.clientOf(scene.faulty());
        scene.clientOf(scene.sound());
        Believers believers = new Believers();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<CompletableFuture<Void>> callers = new ArrayList<>();
            Fault fault = begin(scene, believers, callers, threads);
            Supplier<Void> other = () -> {
                fault.awaitHits(1, PATIENCE);
                for (int i = 0; i < 3; i++) {
                    use(scene.sound(), LockRequest.of(scene.name()), believers, Duration.ofMillis(20));
                }
                return null;
            };
            CompletableFuture<Void> contender =
                    contended ? CompletableFuture.supplyAsync(other, threads) : new CompletableFuture<>();
            for (CompletableFuture<Void> caller : callers) {
                caller.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
            if (!contended) {
                assertThat(longestGhost(scene, faultyClient)).isLessThan(COMMAND_TIMEOUT.plus(SLACK));
                contender.completeAsync(other, threads);
            }
            contender.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            fault.awaitCompleted(1, PATIENCE);
        } finally {
            threads.shutdownNow();
        }
        assertThat(believers.overlaps()).isEmpty();
        assertOneReleaseEndsAll(scene);
    }

    /** Sends the callers of the faulty instance, and lets the fault befall the command in question. */
    private Fault begin(
            Scene scene, Believers believers, List<CompletableFuture<Void>> callers, ExecutorService threads) {
        if (command == AmbiguousCommand.CLAIM) {
            try (LockLease before = scene.sound().acquire(scene.name())) {
                believers.enter(before);
                AtomicReference<Fault> fault = new AtomicReference<>();
                callers.add(caller(scene, believers, threads, fault));
                awaitWaiter(scene);
                fault.set(command.befall(ambiguity, scene.network(), scene.name(), late()));
                return fault.get();
            }
        }
        AtomicReference<Fault> fault =
                new AtomicReference<>(command.befall(ambiguity, scene.network(), scene.name(), late()));
        callers.add(caller(scene, believers, threads, fault));
        if (command == AmbiguousCommand.HAND_OVER) {
            callers.add(caller(scene, believers, threads, fault));
        }
        return fault.get();
    }

    private Duration late() {
        return ambiguity == Ambiguity.RUNS_MUCH_TOO_LATE ? MUCH_TOO_LATE : LATE;
    }

    private static void awaitWaiter(Scene scene) {
        Awaitility.await().atMost(PATIENCE).until(() -> scene.server().waiting("lockkeeper:lock:" + scene.name()) > 0);
    }

    /**
     * On a busy machine an acquisition may fail, or a hand-over find no other caller: these are tried again. Any other
     * command must have been sent by the end of the first body.
     */
    private CompletableFuture<Void> caller(
            Scene scene, Believers believers, ExecutorService threads, AtomicReference<Fault> fault) {
        Duration work = command == AmbiguousCommand.RENEW ? LEASE : Duration.ofMillis(50);
        long end = System.nanoTime() + PATIENCE.toNanos();
        return CompletableFuture.runAsync(
                () -> {
                    boolean hasSent;
                    do {
                        hasSent = use(scene.faulty(), command.request(scene.name()), believers, work)
                                && command != AmbiguousCommand.HAND_OVER;
                        // Not once the command is ambiguous: a further use would end what it left.
                    } while (!hasSent && !hasBefallen(fault.get()) && System.nanoTime() < end);
                },
                threads);
    }

    private static boolean hasBefallen(Fault fault) {
        return fault != null && fault.hits() > 0;
    }

    /**
     * Takes the lock and takes it again inside, and leaves both; or does not get it, because the answer is missing.
     * Returns whether the body ran to its end.
     */
    private static boolean use(LockTemplate template, LockRequest request, Believers believers, Duration work) {
        AtomicBoolean done = new AtomicBoolean();
        try {
            template.run(request.withWaitTime(Duration.ofSeconds(8)), lease -> {
                believers.enter(lease);
                template.run(request, inner -> LockSupport.parkNanos(work.toNanos()));
                done.set(true);
            });
        } catch (LockException unknown) {
            assertThat(unknown).hasMessageNotContaining("another caller");
        }
        for (String name : request.names()) {
            assertThat(template.lock(name).getHoldCount()).isZero();
        }
        return done.get();
    }

    /** The longest time for which the record names an instance that wants nothing. */
    private static Duration longestGhost(Scene scene, String client) {
        long end = System.nanoTime()
                + MUCH_TOO_LATE.plus(COMMAND_TIMEOUT).plus(SLACK).toNanos();
        long longest = 0;
        long since = System.nanoTime();
        while (System.nanoTime() < end) {
            if (scene.owner().startsWith(client)) {
                longest = Math.max(longest, System.nanoTime() - since);
            } else {
                since = System.nanoTime();
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        }
        return Duration.ofNanos(longest);
    }

    private static void assertOneReleaseEndsAll(Scene scene) {
        scene.network().clear();
        Awaitility.await().atMost(COMMAND_TIMEOUT.plus(SLACK)).until(() -> scene.owner()
                .isEmpty());
        LockLease last = scene.faulty().acquire(scene.name());
        assertThat(last.verify()).isTrue();
        last.release();
        assertThat(scene.owner()).isEmpty();
        assertThat(scene.faulty().inspector().status(scene.name())).isEmpty();
        Awaitility.await().atMost(PATIENCE).untilAsserted(() -> assertThat(scene.faulty())
                .hasToString("LockTemplate[held=0, names=0]"));
    }

    @Override
    public String toString() {
        return command + " " + ambiguity + " " + driver + (contended ? " contended" : " alone");
    }

    /** Those who were given the lock, one after the other. */
    private static final class Believers {

        private final AtomicReference<LockLease> last = new AtomicReference<>();
        private final List<String> overlaps = new CopyOnWriteArrayList<>();

        void enter(LockLease lease) {
            LockLease before = last.getAndSet(lease);
            if (before != null && before.isHeld()) {
                overlaps.add(before + " and " + lease);
            }
        }

        List<String> overlaps() {
            return overlaps;
        }
    }
}
