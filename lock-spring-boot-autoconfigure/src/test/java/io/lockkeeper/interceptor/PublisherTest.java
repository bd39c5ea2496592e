/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static io.lockkeeper.interceptor.LockedApplication.runner;
import static io.lockkeeper.interceptor.LockedApplication.whileHeldElsewhere;
import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.LockUpgradeException;
import io.lockkeeper.annotation.DistributedLocked;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import reactor.adapter.JdkFlowAdapter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Publishers under locks; what they share with all kinds of results is in the matrix. */
class PublisherTest {

    private static final Duration SOON = Duration.ofSeconds(20);

    private final ApplicationContextRunner runner = runner().withBean(Shop.class);

    private void inShop(Consumer<Shop> test) {
        runner.run(context -> {
            Shop shop = context.getBean(Shop.class);
            test.accept(shop);
            LockTemplate template = context.getBean(LockTemplate.class);
            Awaitility.await().until(() -> !template.lock("shop").isLocked());
        });
    }

    @Test
    void nothingHappensBeforeTheSubscriptionAndEachSubscriptionLocksAnew() {
        inShop(shop -> {
            AtomicInteger calls = new AtomicInteger();
            Mono<Long> token = shop.token(calls);
            assertThat(calls).hasValue(0);
            long first = token.block(SOON);
            assertThat(token.block(SOON)).isGreaterThan(first);
            assertThat(calls).hasValue(2);
        });
    }

    @Test
    void theMethodIsInsideAndItsOperatorsAreNot() {
        inShop(shop -> assertThat(shop.contexts().collectList().block(SOON)).containsExactly(true, false));
    }

    @Test
    void nestedPublishersEnterTheLockAgainOnAnyThread() {
        inShop(shop -> StepVerifier.create(shop.nested(shop).collectList())
                .assertNext(tokens -> assertThat(tokens).hasSize(11).containsOnly(tokens.get(0)))
                .expectComplete()
                .verify(SOON));
    }

    @Test
    void aReaderIsNotUpgraded() {
        inShop(shop -> StepVerifier.create(shop.upgrade(shop))
                .expectError(LockUpgradeException.class)
                .verify(SOON));
    }

    @Test
    void aLostHoldIsNotEntered() {
        inShop(shop -> StepVerifier.create(shop.enterLost(shop))
                .expectError(LockLostException.class)
                .verify(SOON));
    }

    @Test
    void aBlockingMethodWaitsForANestedPublisherThatEntersItsLockAgain() {
        inShop(shop -> assertThat(shop.blocking(shop)).isPositive());
    }

    @Test
    void demandReachesTheBody() {
        inShop(shop -> {
            AtomicLong requested = new AtomicLong();
            StepVerifier.create(shop.numbers(requested), 2)
                    .expectNext(1, 2)
                    .then(() -> assertThat(requested).hasValue(2))
                    .thenRequest(1)
                    .expectNext(3)
                    .then(() -> assertThat(requested).hasValue(3))
                    .thenCancel()
                    .verify(SOON);
        });
    }

    @Test
    void otherReactiveTypesAreLockedToo() {
        inShop(shop -> {
            assertThat(Flux.from(shop.publisher()).collectList().block(SOON)).containsExactly(true);
            assertThat(JdkFlowAdapter.flowPublisherToFlux(shop.flow())
                            .collectList()
                            .block(SOON))
                    .containsExactly(true);
            assertThat(shop.none().blockOptional(SOON)).isEmpty();
        });
    }

    @Test
    void waitingBlocksNoThread() {
        Scheduler loop = Schedulers.newSingle("loop");
        runner.withPropertyValues("lockkeeper.wait-time=1h").run(context -> {
            Shop shop = context.getBean(Shop.class);
            CompletableFuture<Long> waiting = new CompletableFuture<>();
            whileHeldElsewhere(context, "shop", () -> {
                shop.token(new AtomicInteger())
                        .subscribeOn(loop)
                        .subscribe(waiting::complete, waiting::completeExceptionally);
                for (int i = 0; i < 3; i++) {
                    Mono.fromRunnable(() -> {}).subscribeOn(loop).block(SOON);
                }
                assertThat(waiting).isNotDone();
            });
            assertThat(waiting.get(SOON.toSeconds(), TimeUnit.SECONDS)).isPositive();
        });
        loop.dispose();
    }

    static class Shop {

        private final LockInspector inspector;

        Shop(LockInspector inspector) {
            this.inspector = inspector;
        }

        @DistributedLocked("shop")
        public Mono<Long> token(AtomicInteger calls) {
            calls.incrementAndGet();
            return Mono.just(LockContext.require().fencingToken());
        }

        @DistributedLocked("shop")
        public Flux<Boolean> contexts() {
            boolean inside = LockContext.current().isPresent();
            return Flux.just(inside)
                    .concatWith(Mono.fromSupplier(() -> LockContext.current().isPresent()));
        }

        @DistributedLocked("shop")
        public Flux<Long> nested(Shop self) {
            Mono<Long> own = Mono.deferContextual(
                    context -> Mono.just(context.get(LockLease.class).fencingToken()));
            return own.concatWith(Flux.range(0, 10)
                    .flatMap(index -> self.token(new AtomicInteger()).subscribeOn(Schedulers.parallel())));
        }

        @DistributedLocked(name = "shop", mode = LockMode.READ)
        public Mono<Long> upgrade(Shop self) {
            return self.token(new AtomicInteger());
        }

        @DistributedLocked("shop")
        public Mono<Long> enterLost(Shop self) {
            LockLease lease = LockContext.require();
            LockedApplication.beginLoss(inspector, "shop");
            return Mono.delay(Duration.ofMillis(10))
                    .repeat()
                    .takeUntil(tick -> !lease.isHeld())
                    .then(self.token(new AtomicInteger()));
        }

        @DistributedLocked("shop")
        public long blocking(Shop self) {
            return self.token(new AtomicInteger()).block(SOON);
        }

        @DistributedLocked("shop")
        public Flux<Integer> numbers(AtomicLong requested) {
            return Flux.range(1, 100).doOnRequest(requested::addAndGet);
        }

        @DistributedLocked("shop")
        public Publisher<Boolean> publisher() {
            return Flux.fromIterable(List.of(LockContext.current().isPresent()));
        }

        @DistributedLocked("shop")
        public Flow.Publisher<Boolean> flow() {
            return JdkFlowAdapter.publisherToFlowPublisher(
                    Flux.just(LockContext.current().isPresent()));
        }

        @DistributedLocked("shop")
        public Mono<String> none() {
            return null;
        }
    }
}
