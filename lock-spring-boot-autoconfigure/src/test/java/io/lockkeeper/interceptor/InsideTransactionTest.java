/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.lockkeeper.LockContext;
import io.lockkeeper.LockInspector;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockOperations;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.annotation.DistributedLocked;
import io.lockkeeper.annotation.LossPolicy;
import io.lockkeeper.interceptor.SalesDatabase.Sales;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.core.PriorityOrdered;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.reactive.AbstractReactiveTransactionManager;
import org.springframework.transaction.reactive.GenericReactiveTransaction;
import org.springframework.transaction.reactive.TransactionalOperator;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import reactor.core.publisher.Mono;

/** Locks that are taken inside a transaction that is open already. */
class InsideTransactionTest {

    private final ApplicationContextRunner runner = LockedApplication.runner()
            .withUserConfiguration(SalesDatabase.class, Transactions.class)
            .withBean(Shop.class);

    private final LogRecorder log = new LogRecorder(LockTemplate.class);

    @AfterEach
    void stopRecording() {
        log.close();
    }

    enum Form {
        ANNOTATION {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                shop.sell();
            }
        },
        RUN {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                locks.run("stock", lease -> shop.add());
            }
        },
        EXECUTE {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                locks.<Boolean, RuntimeException>execute("stock", lease -> {
                    shop.add();
                    return true;
                });
            }
        },
        TRY_RUN {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                assertThat(locks.tryRun("stock", lease -> shop.add())).isTrue();
            }
        },
        ACQUIRE {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                try (LockLease lease = locks.acquire("stock")) {
                    shop.add();
                }
            }
        },
        TRY_ACQUIRE {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                try (LockLease lease = locks.tryAcquire("stock").orElseThrow()) {
                    shop.add();
                }
            }
        },
        LOCK {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) {
                locks.lock("stock").lock();
                try {
                    shop.add();
                } finally {
                    locks.lock("stock").unlock();
                }
            }
        },
        ACQUIRE_ASYNC {
            @Override
            void lockAndRelease(Shop shop, LockOperations locks) throws Exception {
                try (LockLease lease =
                        locks.acquireAsync(LockRequest.of("stock")).get(10, TimeUnit.SECONDS)) {
                    shop.add();
                }
            }
        };

        abstract void lockAndRelease(Shop shop, LockOperations locks) throws Exception;
    }

    @ParameterizedTest
    @EnumSource
    void warnSaysOnceThatTheLockEndsBeforeTheCommit(Form form) {
        runner.run(context -> {
            inTransaction(context, form);
            inTransaction(context, form);
            String method = form == Form.ANNOTATION ? "Shop.sell" : ".lockAndRelease";
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .startsWith("WARN")
                    .contains(method + " asks for lock [stock]", "release-after-completion");
        });
    }

    @Test
    void warnNamesEachOfSeveralMethodsOfOneName() {
        runner.withBean(Overloads.class).run(context -> {
            Overloads overloads = context.getBean(Overloads.class);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                overloads.sell(1);
                overloads.sell("a");
                overloads.sell("b");
            });
            assertThat(log.lines()).hasSize(2);
            assertThat(log.lines().get(0)).contains("Overloads.sell(int) asks for lock");
            assertThat(log.lines().get(1)).contains("Overloads.sell(String) asks for lock");
        });
    }

    static class Overloads {
        @DistributedLocked("stock")
        public void sell(int count) {}

        @DistributedLocked("stock")
        public void sell(String item) {}
    }

    @ParameterizedTest
    @EnumSource
    void failRefusesTheLock(Form form) {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail").run(context -> {
            assertThatIllegalStateException()
                    .isThrownBy(() -> inTransaction(context, form))
                    .withMessageContaining("asks for lock [stock] inside an open transaction")
                    .withMessageContaining("lockkeeper.inside-transaction=fail");
            assertThat(context.getBean(Sales.class).committed()).isZero();
            form.lockAndRelease(context.getBean(Shop.class), context.getBean(LockTemplate.class));
        });
    }

    /** It asks for no purpose of the call, and that must not be the purpose of the next lock. */
    @Test
    void failRefusesALockInsideAMethodWithATransactionOfItsOwnAndATemplateThatKnowsNoTransactions() {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail")
                .withUserConfiguration(OwnTemplate.class)
                .run(context -> assertThatIllegalStateException()
                        .isThrownBy(() -> context.getBean(Branch.class).sell())
                        .withMessageContaining("asks for lock [inner] inside an open transaction"));
    }

    @Configuration(proxyBeanMethods = false)
    @Import(Branch.class)
    static class OwnTemplate {
        @Bean(defaultCandidate = false)
        LockTemplate own() {
            return LockTemplate.builder(new MemoryLockStore()).build();
        }
    }

    static class Branch {

        private final LockOperations locks;

        Branch(LockOperations locks) {
            this.locks = locks;
        }

        @DistributedLocked(value = "outer", lockTemplate = "own")
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void sell() {
            locks.run("inner", lease -> {});
        }
    }

    @ParameterizedTest
    @EnumSource
    void allowSaysNothing(Form form) {
        runner.withPropertyValues("lockkeeper.inside-transaction=allow").run(context -> {
            inTransaction(context, form);
            assertThat(log.lines()).isEmpty();
        });
    }

    @ParameterizedTest
    @EnumSource
    void releaseAfterCompletionKeepsTheLockUntilTheCommit(Form form) {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> assertKept(context, form, false));
    }

    @ParameterizedTest
    @EnumSource
    void releaseAfterCompletionKeepsTheLockUntilTheRollback(Form form) {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> assertKept(context, form, true));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ACQUIRE_ASYNC")
    void aTransactionEntersItsOwnLocksAgain(Form form) {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> {
                    Shop shop = context.getBean(Shop.class);
                    LockTemplate locks = context.getBean(LockTemplate.class);
                    context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                        for (Form again : Form.values()) {
                            if (again != Form.ACQUIRE_ASYNC) {
                                lockAndRelease(form, shop, locks);
                                lockAndRelease(again, shop, locks);
                            }
                        }
                        assertThat(isFree(context)).isFalse();
                    });
                    assertThat(isFree(context)).isTrue();
                });
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aLockThatIsOutsideTheTransactionMayBeEnteredAgainInside(String reaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + reaction).run(context -> {
            context.getBean(Shop.class).sellInTransaction();
            assertThat(log.lines()).isEmpty();
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
        });
    }

    @Test
    void aCallbackAfterTheTransactionIsNotInside() {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail").run(context -> {
            Shop shop = context.getBean(Shop.class);
            context.getBean(TransactionTemplate.class)
                    .executeWithoutResult(status ->
                            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                                @Override
                                public void afterCompletion(int outcome) {
                                    shop.sell();
                                }
                            }));
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aCallbackAfterTheCommitIsNotInside(String reaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + reaction).run(context -> {
            Shop shop = context.getBean(Shop.class);
            LockTemplate locks = context.getBean(LockTemplate.class);
            TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
            transactions.executeWithoutResult(status ->
                    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                        @Override
                        public void afterCommit() {
                            shop.sellOnItsOwn();
                            locks.run("stock", lease -> {});
                        }
                    }));
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(1);
            assertThat(log.lines()).isEmpty();
        });
    }

    @Test
    void aCallbackAfterTheCommitThatComesBeforeAllOthersIsNotInside() {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail").run(context -> {
            LockTemplate locks = context.getBean(LockTemplate.class);
            List<String> inside = new ArrayList<>();
            context.getBean(TransactionTemplate.class)
                    .executeWithoutResult(status -> TransactionSynchronizationManager.registerSynchronization(
                            new FirstOfAll(() -> inside.add(reactionTo(locks)))));
            assertThat(inside).containsExactly("nothing");
        });
    }

    record FirstOfAll(Runnable action) implements TransactionSynchronization, PriorityOrdered {
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }

        @Override
        public void afterCommit() {
            action.run();
        }
    }

    /** As entity callbacks do, which JPA calls when it flushes what is still to be written. */
    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail", "release-after-completion"})
    void aCallbackInTheCommitItselfIsInside(String reaction) {
        runner.withUserConfiguration(Flushing.class)
                .withPropertyValues("lockkeeper.inside-transaction=" + reaction)
                .run(context -> {
                    LockTemplate locks = context.getBean(LockTemplate.class);
                    List<String> inside = new ArrayList<>();
                    context.getBean(FlushingManager.class).flush = () -> {
                        inside.add(reactionTo(locks));
                        inside.add(isFree(context) ? "free" : "held");
                    };
                    context.getBean(TransactionTemplate.class)
                            .executeWithoutResult(
                                    status -> context.getBean(Shop.class).add());
                    boolean isKept = reaction.equals("release-after-completion");
                    assertThat(inside).containsExactly(isKept ? "nothing" : reaction, isKept ? "held" : "free");
                    assertThat(isFree(context)).isTrue();
                });
    }

    /** What the lock was for is committed: as with a reactive transaction, the caller hears of it after that. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theLossOfALockThatIsFirstTakenInTheCommitIsToldAfterIt(boolean isFirst) {
        runner.withUserConfiguration(Flushing.class)
                .withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> {
                    Shop shop = context.getBean(Shop.class);
                    LockTemplate locks = context.getBean(LockTemplate.class);
                    TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
                    context.getBean(FlushingManager.class).flush = () -> {
                        shop.sellOrFail();
                        lose(context, locks);
                    };
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(() -> transactions.executeWithoutResult(status -> {
                                if (!isFirst) {
                                    locks.run("other", lease -> {});
                                }
                            }))
                            .satisfies(lost -> assertThat(lost.name()).isEqualTo("stock"));
                    context.getBean(FlushingManager.class).flush = () -> {
                        shop.sell();
                        lose(context, locks);
                    };
                    transactions.executeWithoutResult(status -> {});
                });
    }

    /** Takes the lock that the transaction holds on, and waits until its loss is known. */
    private static void lose(ApplicationContext context, LockTemplate locks) {
        try (LockLease again = locks.acquire("stock")) {
            context.getBean(LockInspector.class).forceRelease("stock");
            Awaitility.await().pollInterval(Duration.ofMillis(5)).until(() -> !again.isHeld());
        }
    }

    static class Flushing {
        @Bean
        @Primary
        FlushingManager flushing(DataSource dataSource) {
            return new FlushingManager(dataSource);
        }

        @Bean
        @Primary
        TransactionTemplate flushingTransactions(FlushingManager flushing) {
            return new TransactionTemplate(flushing);
        }
    }

    static class FlushingManager extends DataSourceTransactionManager {

        private static final long serialVersionUID = 1L;

        private transient Runnable flush = () -> {};

        FlushingManager(DataSource dataSource) {
            super(dataSource);
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            flush.run();
            super.doCommit(status);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aReactiveTransactionOnTheThreadOfAnotherLeavesThatOpen(String reaction) {
        runner.withBean(NoDatabase.class)
                .withPropertyValues("lockkeeper.inside-transaction=" + reaction)
                .run(context -> {
                    LockTemplate locks = context.getBean(LockTemplate.class);
                    TransactionalOperator reactive = TransactionalOperator.create(context.getBean(NoDatabase.class));
                    List<String> inside = new ArrayList<>();
                    context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                        Mono.fromCallable(() -> "sold")
                                .as(reactive::transactional)
                                .block();
                        inside.add(reactionTo(locks));
                    });
                    assertThat(inside).containsExactly(reaction);
                });
    }

    static class NoDatabase extends AbstractReactiveTransactionManager {

        private static final long serialVersionUID = 1L;

        @Override
        protected Object doGetTransaction(
                org.springframework.transaction.reactive.TransactionSynchronizationManager context) {
            return new Object();
        }

        @Override
        protected Mono<Void> doBegin(
                org.springframework.transaction.reactive.TransactionSynchronizationManager context,
                Object transaction,
                TransactionDefinition definition) {
            return Mono.empty();
        }

        @Override
        protected Mono<Void> doCommit(
                org.springframework.transaction.reactive.TransactionSynchronizationManager context,
                GenericReactiveTransaction status) {
            return Mono.empty();
        }

        @Override
        protected Mono<Void> doRollback(
                org.springframework.transaction.reactive.TransactionSynchronizationManager context,
                GenericReactiveTransaction status) {
            return Mono.empty();
        }
    }

    /** Its manager is no bean, and nothing hears of the commit. */
    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aCallbackAfterTheCommitOfAManagerThatTellsNothingIsNotInside(String reaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + reaction).run(context -> {
            LockTemplate locks = context.getBean(LockTemplate.class);
            PlatformTransactionManager untold = new DataSourceTransactionManager(context.getBean(DataSource.class));
            TransactionTemplate another = new TransactionTemplate(
                    untold, new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW));
            List<String> inside = new ArrayList<>();
            new TransactionTemplate(untold).executeWithoutResult(status -> {
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        locks.run("stock", lease -> {});
                        assertThat(log.lines()).isEmpty();
                        another.executeWithoutResult(begun -> inside.add(reactionTo(locks)));
                    }
                });
            });
            assertThat(inside).containsExactly(reaction);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aTransactionOfAManagerThatTellsNothingIsOpen(String reaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + reaction).run(context -> {
            List<String> inside = new ArrayList<>();
            new TransactionTemplate(new DataSourceTransactionManager(context.getBean(DataSource.class)))
                    .executeWithoutResult(begun -> inside.add(reactionTo(context.getBean(LockTemplate.class))));
            assertThat(inside).containsExactly(reaction);
        });
    }

    private String reactionTo(LockTemplate locks) {
        try {
            locks.run("stock", lease -> {});
            return log.lines().isEmpty() ? "nothing" : "warn";
        } catch (IllegalStateException refused) {
            return "fail";
        }
    }

    @Test
    void aTransactionIsOpenAfterTheEndOfANestedOne() {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail").run(context -> {
            Shop shop = context.getBean(Shop.class);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                addInNested(context);
                assertThatIllegalStateException().isThrownBy(shop::sell);
            });
        });
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> {
                    Shop shop = context.getBean(Shop.class);
                    context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                        addInNested(context);
                        shop.sell();
                        assertThat(isFree(context)).isFalse();
                    });
                    assertThat(isFree(context)).isTrue();
                });
    }

    private static void addInNested(ApplicationContext context) {
        TransactionTemplate nested = new TransactionTemplate(
                context.getBean(PlatformTransactionManager.class),
                new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_NESTED));
        nested.executeWithoutResult(status -> context.getBean(Shop.class).add());
    }

    @Test
    void aTransactionThatBeginsAfterTheCommitOfAnotherIsOneOfItsOwn() {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail").run(context -> {
            Shop shop = context.getBean(Shop.class);
            TransactionTemplate inner = new TransactionTemplate(
                    context.getBean(PlatformTransactionManager.class),
                    new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW));
            AtomicBoolean refused = new AtomicBoolean();
            context.getBean(TransactionTemplate.class)
                    .executeWithoutResult(status ->
                            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                                @Override
                                public void afterCommit() {
                                    assertThatIllegalStateException()
                                            .isThrownBy(() -> inner.executeWithoutResult(begun -> shop.sell()));
                                    refused.set(true);
                                }
                            }));
            assertThat(refused).isTrue();
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aMethodThatSuspendsTheTransactionIsNotInside(String reaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + reaction).run(context -> {
            Shop shop = context.getBean(Shop.class);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                shop.sellOnItsOwn();
                shop.sellWithout();
                status.setRollbackOnly();
            });
            assertThat(context.getBean(Sales.class).committed()).isEqualTo(2);
            assertThat(log.lines()).isEmpty();
        });
    }

    @Test
    void aLockInsideTheTransactionOfItsOwnMethodIsRefused() {
        runner.withPropertyValues("lockkeeper.inside-transaction=fail", "lockkeeper.advisor-order=2147483647")
                .withUserConfiguration(EarlyTransactions.class)
                .run(context -> assertThatIllegalStateException()
                        .isThrownBy(context.getBean(Shop.class)::sellOnItsOwn)
                        .withMessageContaining("inside an open transaction"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"warn", "fail"})
    void aTransactionThatOnlyReadsCommitsNothing(String reaction) {
        runner.withPropertyValues("lockkeeper.inside-transaction=" + reaction).run(context -> {
            TransactionTemplate reading = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
            reading.setReadOnly(true);
            LockTemplate locks = context.getBean(LockTemplate.class);
            reading.executeWithoutResult(status -> locks.run("stock", lease -> {}));
            assertThat(log.lines()).isEmpty();
        });
    }

    @Test
    void aSuspendedTransactionKeepsItsLocksWhenAnInnerOneEnds() {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> {
                    Shop shop = context.getBean(Shop.class);
                    context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                        shop.sell();
                        shop.sellOnItsOwn();
                        assertThat(isFree(context)).isFalse();
                    });
                    assertThat(isFree(context)).isTrue();
                    assertThat(context.getBean(Sales.class).committed()).isEqualTo(2);
                });
    }

    @Test
    void aLeaseThatOutlivesTheTransactionIsReleasedByItsOwner() {
        runner.withPropertyValues("lockkeeper.inside-transaction=release-after-completion")
                .run(context -> {
                    LockTemplate locks = context.getBean(LockTemplate.class);
                    TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
                    for (LockLease lease : new LockLease[] {
                        transactions.execute(status -> locks.acquire("stock")),
                        transactions.execute(status ->
                                locks.acquireAsync(LockRequest.of("other")).join())
                    }) {
                        assertThat(lease.isHeld()).isTrue();
                        assertThat(isFree(context, lease.name())).isFalse();
                        lease.close();
                        assertThat(isFree(context, lease.name())).isTrue();
                    }
                });
    }

    @Test
    void applicationsWithoutTransactionsNeedNoTransactionClasses() {
        LockedApplication.runner()
                .withClassLoader(new FilteredClassLoader("org.springframework.transaction"))
                .withPropertyValues("lockkeeper.inside-transaction=fail")
                .withBean(Guarded.class)
                .run(context ->
                        assertThat(context.getBean(Guarded.class).isHeld()).isTrue());
    }

    private static void assertKept(ApplicationContext context, Form form, boolean rollsBack) {
        Shop shop = context.getBean(Shop.class);
        LockTemplate locks = context.getBean(LockTemplate.class);
        Sales sales = context.getBean(Sales.class);
        context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
            lockAndRelease(form, shop, locks);
            assertThat(isFree(context)).isFalse();
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void beforeCompletion() {
                    assertThat(isFree(context)).isFalse();
                }

                @Override
                public void afterCommit() {
                    assertThat(sales.committed()).isEqualTo(1);
                    assertThat(isFree(context)).isFalse();
                }
            });
            if (rollsBack) {
                status.setRollbackOnly();
            }
        });
        assertThat(sales.committed()).isEqualTo(rollsBack ? 0 : 1);
        assertThat(isFree(context)).isTrue();
    }

    private static void inTransaction(ApplicationContext context, Form form) {
        Shop shop = context.getBean(Shop.class);
        LockTemplate locks = context.getBean(LockTemplate.class);
        context.getBean(TransactionTemplate.class).executeWithoutResult(status -> lockAndRelease(form, shop, locks));
    }

    private static void lockAndRelease(Form form, Shop shop, LockOperations locks) {
        try {
            form.lockAndRelease(shop, locks);
        } catch (RuntimeException failure) {
            throw failure;
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static boolean isFree(ApplicationContext context) {
        return isFree(context, "stock");
    }

    private static boolean isFree(ApplicationContext context, String name) {
        try (LockTemplate elsewhere = LockTemplate.builder(
                        context.getBean(MemoryLockStore.class).peer())
                .shutdownWait(Duration.ZERO)
                .build()) {
            return elsewhere.tryRun(name, lease -> {});
        }
    }

    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {}

    @EnableTransactionManagement(proxyTargetClass = true, order = 1)
    static class EarlyTransactions {}

    static class Shop {

        private final Sales sales;
        private final TransactionTemplate transactions;

        Shop(Sales sales, TransactionTemplate transactions) {
            this.sales = sales;
            this.transactions = transactions;
        }

        public void add() {
            sales.add();
        }

        @DistributedLocked("stock")
        public void sell() {
            sales.add();
        }

        @DistributedLocked(name = "stock", onLost = LossPolicy.FAIL)
        public void sellOrFail() {
            sales.add();
        }

        @DistributedLocked("stock")
        @Transactional(propagation = Propagation.REQUIRES_NEW)
        public void sellOnItsOwn() {
            sales.add();
        }

        @DistributedLocked("stock")
        @Transactional(propagation = Propagation.NOT_SUPPORTED)
        public void sellWithout() {
            sales.add();
        }

        @DistributedLocked("stock")
        public void sellInTransaction() {
            transactions.executeWithoutResult(status -> sell());
        }
    }

    public static class Guarded {
        @DistributedLocked("guarded")
        public boolean isHeld() {
            return LockContext.require().isHeld();
        }
    }
}
