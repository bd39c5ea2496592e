/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What an operator reads when an application stops. */
class ClosingTest {

    private final Logger logger = (Logger) LoggerFactory.getLogger(LockTemplate.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final LockTemplate template = LockTemplate.builder(new MemoryLockStore())
            .shutdownWait(Duration.ofMillis(50))
            .build();

    @BeforeEach
    void listen() {
        lines.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(lines);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(lines);
        logger.setLevel(null);
    }

    @Test
    void aLockThatIsTakenFromItsHolderIsNamed() {
        LockLease lease = template.acquire("stock");
        template.close();

        assertThat(lease.isHeld()).isFalse();
        assertThat(warnings())
                .containsExactly("Released although their holders have not ended within 50 ms, so that others may have"
                        + " them now: 1 held, 'stock' (fencing token " + lease.fencingToken() + ")");
    }

    @Test
    void aThreadDoesNotWaitForItsOwnLease() {
        LockTemplate patient = LockTemplate.builder(new MemoryLockStore())
                .shutdownWait(Duration.ofMinutes(5))
                .build();
        LockLease lease = patient.acquire("stock");
        assertTimeout(Duration.ofSeconds(20), patient::close);
        assertThat(lease.isHeld()).isFalse();
        assertThat(warnings()).singleElement().asString().contains("'stock'");
    }

    @Test
    void anOrderlyEndIsSilent() {
        template.run("stock", lease -> {});
        template.close();
        assertThat(lines.list).isEmpty();
    }

    private List<String> warnings() {
        return lines.list.stream()
                .filter(line -> line.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }
}
