/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.memory.MemoryLockStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Leases whose caller forgets to release them, and locks that this instance itself holds. */
class AcquiredLeaseTest {

    private final Logger logger = (Logger) LoggerFactory.getLogger(LockLease.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final LockTemplate template = LockTemplate.builder(new MemoryLockStore())
            .instanceName("shop")
            .shutdownWait(Duration.ZERO)
            .build();

    @BeforeEach
    void record() {
        lines.start();
        logger.setLevel(Level.WARN);
        logger.addAppender(lines);
    }

    @AfterEach
    void close() {
        template.close();
        logger.detachAppender(lines);
        logger.setLevel(null);
    }

    /** What was logged of the locks of this test: other tests of the process may have forgotten leases, too. */
    private List<String> said() {
        return List.copyOf(lines.list).stream()
                .map(ILoggingEvent::getFormattedMessage)
                .filter(line -> line.startsWith("The lease of lock [own-"))
                .toList();
    }

    private void awaitGarbage(String name) {
        Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> {
            System.gc();
            return said().stream().anyMatch(line -> line.contains("[" + name + "]"));
        });
    }

    @Test
    void aLeaseThatIsForgottenIsLoggedWithWhereItWasAcquired() {
        template.acquire("own-forgotten");
        awaitGarbage("own-forgotten");
        assertThat(said())
                .singleElement()
                .asString()
                .startsWith(
                        "The lease of lock [own-forgotten] was collected as garbage without a release, and is renewed until"
                                + " the process ends. Release it in a finally block, or with try-with-resources. It was acquired at"
                                + " io.lockkeeper.AcquiredLeaseTest.aLeaseThatIsForgottenIsLoggedWithWhereItWasAcquired("
                                + "AcquiredLeaseTest.java:");
        assertThat(template.tryAcquire("own-forgotten")).isEmpty();
    }

    @Test
    void thoseOfTheOtherFormsAreLoggedToo() {
        assertThat(template.tryAcquire("own-tried")).isPresent();
        template.acquireAsync(LockRequest.of("own-later").withLeaseTime(Duration.ofMinutes(1)))
                .join();
        awaitGarbage("own-tried");
        awaitGarbage("own-later");
        assertThat(said())
                .allMatch(line -> line.contains("AcquiredLeaseTest.thoseOfTheOtherFormsAreLoggedToo("))
                .anyMatch(line -> line.contains("and is held until its lease time is over"));
    }

    @Test
    void whatIsReleasedOrNeverReceivedIsNotLogged() {
        template.acquire("own-closed").close();
        template.acquire("own-released").release();
        template.run("own-body", lease -> {});
        try (LockLease held = template.acquire("own-held")) {
            CompletableFuture<LockLease> cancelled = template.acquireAsync(LockRequest.of("own-held"));
            cancelled.cancel(true);
            template.acquire("own-garbage");
            awaitGarbage("own-garbage");
            assertThat(held.isHeld()).isTrue();
        }
        assertThat(said()).hasSize(1);
    }

    @Test
    void aLockThatThisInstanceHoldsIsNamedWithItsThread() {
        String message = " not acquired after \\d+ ms: held by this instance, thread '"
                + Thread.currentThread().getName() + "'";
        try (LockLease held = template.acquire("held");
                LockLease fair = template.acquire(LockRequest.of("fair").withMode(LockMode.FAIR))) {
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> template.acquire(LockRequest.of("held").withWaitTime(Duration.ZERO)))
                    .withMessageMatching("Lock 'held'" + message);
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> template.acquire(LockRequest.of("held").withWaitTime(Duration.ofMillis(50))))
                    .withMessageMatching("Lock 'held'" + message);
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> template.acquire(LockRequest.of("fair").withWaitTime(Duration.ZERO)))
                    .withMessageMatching("Lock 'fair'" + message);
            assertThat(held.isHeld() && fair.isHeld()).isTrue();
        }
    }

    @Test
    void aLockThatAnotherInstanceHoldsIsNamedWithItsProcess() {
        MemoryLockStore store = new MemoryLockStore();
        try (LockTemplate here = LockTemplate.builder(store.peer()).build();
                LockTemplate elsewhere =
                        LockTemplate.builder(store).instanceName("till").build();
                LockLease held = elsewhere.acquire("held")) {
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> here.acquire(LockRequest.of("held").withWaitTime(Duration.ZERO)))
                    .withMessageContaining("held by till (host ");
            assertThat(held.isHeld()).isTrue();
        }
    }
}
