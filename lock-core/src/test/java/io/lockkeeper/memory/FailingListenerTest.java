/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockTemplate;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** A listener that fails at every event. */
class FailingListenerTest {

    @Test
    void itDoesNotFillTheLog() {
        Logger logger = (Logger) LoggerFactory.getLogger(LockListener.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        logger.setLevel(Level.WARN);
        try (LockTemplate template = LockTemplate.builder(new MemoryLockStore())
                .listener(new Failing())
                .build()) {
            for (int i = 0; i < 100; i++) {
                template.run("stock", lease -> {});
            }
            assertThat(lines.list)
                    .filteredOn(line -> line.getFormattedMessage().contains(Failing.class.getName()))
                    .singleElement()
                    .satisfies(line ->
                            assertThat(line.getThrowableProxy().getMessage()).isEqualTo("own"));
        } finally {
            logger.setLevel(null);
            logger.detachAppender(lines);
        }
    }

    @Test
    void aFailureThatTheLogCannotReadIsNoFailureOfTheCall() {
        IllegalStateException unreadable = new IllegalStateException() {
            @Override
            public String getMessage() {
                throw this;
            }
        };
        LockListener failing = new LockListener() {
            @Override
            public void onAcquired(Acquired event) {
                throw unreadable;
            }
        };
        Logger logger = (Logger) LoggerFactory.getLogger(LockListener.class);
        logger.setLevel(Level.WARN);
        try (LockTemplate template =
                LockTemplate.builder(new MemoryLockStore()).listener(failing).build()) {
            assertThat(template.tryRun("stock", lease -> {})).isTrue();
        } finally {
            logger.setLevel(null);
        }
    }

    private static final class Failing implements LockListener {
        @Override
        public void onAcquired(Acquired event) {
            throw new IllegalStateException("own");
        }
    }
}
