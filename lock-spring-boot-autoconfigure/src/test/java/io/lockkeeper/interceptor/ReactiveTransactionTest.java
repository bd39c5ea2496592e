/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionSynchronizationManager;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Transactions that live in the Reactor context. */
class ReactiveTransactionTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final ApplicationContextRunner runner = runner().withUserConfiguration(Transactions.class)
            .withBean(Manager.class)
            .withBean(Shop.class);

    @Test
    void theLockIsReleasedAfterTheCommit() {
        runner.run(context -> {
            StepVerifier.create(context.getBean(Shop.class).sell())
                    .expectNext("sold")
                    .expectComplete()
                    .verify(SOON);
            assertThat(context.getBean(Manager.class).events).containsExactly("lock", "begin", "commit", "release");
        });
    }

    @Test
    void interruptRollsTheTransactionBack() {
        runner.run(context -> {
            StepVerifier.create(context.getBean(Shop.class).interrupted())
                    .expectError(LockLostException.class)
                    .verify(SOON);
            List<String> events = context.getBean(Manager.class).events;
            Awaitility.await().untilAsserted(() -> assertThat(events).contains("rollback"));
            assertThat(events).doesNotContain("commit");
        });
    }

    @Test
    void aTransactionThatEndsWithTheCheckOfItsLeaseRollsBack() {
        runner.run(context -> {
            StepVerifier.create(context.getBean(Shop.class).checking())
                    .expectError(LockLostException.class)
                    .verify(SOON);
            assertThat(context.getBean(Manager.class).events)
                    .contains("rollback")
                    .doesNotContain("commit");
        });
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    static class Shop {

        private final LockInspector inspector;

        Shop(LockInspector inspector) {
            this.inspector = inspector;
        }

        @Transactional
        @DistributedLocked("stock")
        public Mono<String> sell() {
            return Mono.just("sold");
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.INTERRUPT)
        public Mono<String> interrupted() {
            return Mono.<String>never().doOnSubscribe(begun -> LockedApplication.beginLoss(inspector, "stock"));
        }

        @Transactional
        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public Mono<String> checking() {
            return Mono.deferContextual(context -> {
                LockLease lease = context.get(LockLease.class);
                CompletableFuture<String> lost = new CompletableFuture<>();
                lease.onLost(loss -> lost.complete("sold"));
                LockedApplication.beginLoss(inspector, "stock");
                return Mono.fromFuture(lost).doOnNext(sold -> lease.ensureHeld());
            });
        }
    }

    /** Transactions of nothing. */
    static class Manager extends AbstractReactiveTransactionManager implements LockListener {

        private static final long serialVersionUID = 1L;
        private final transient List<String> events = new CopyOnWriteArrayList<>();

        @Override
        public void onAcquired(Acquired event) {
            events.add("lock");
        }

        @Override
        public void onReleased(Released event) {
            events.add("release");
        }

        @Override
        protected Object doGetTransaction(TransactionSynchronizationManager synchronizations) {
            return new Object();
        }

        @Override
        protected Mono<Void> doBegin(
                TransactionSynchronizationManager synchronizations,
                Object transaction,
                TransactionDefinition definition) {
            return Mono.fromRunnable(() -> events.add("begin"));
        }

        @Override
        protected Mono<Void> doCommit(
                TransactionSynchronizationManager synchronizations, GenericReactiveTransaction status) {
            return Mono.fromRunnable(() -> events.add("commit"));
        }

        @Override
        protected Mono<Void> doRollback(
                TransactionSynchronizationManager synchronizations, GenericReactiveTransaction status) {
            return Mono.fromRunnable(() -> events.add("rollback"));
        }
    }
}
