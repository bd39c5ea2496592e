/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What is logged of renewals that fail. */
class RenewalWarningsTest {

    private final ManualTime time = new ManualTime();
    private final RenewalWarnings warnings = new RenewalWarnings(time);
    private final Logger logger = (Logger) LoggerFactory.getLogger(Watchdog.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private Level level;

    @BeforeEach
    void listen() {
        level = logger.getLevel();
        logger.setLevel(Level.WARN);
        logger.setAdditive(false);
        lines.start();
        logger.addAppender(lines);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(lines);
        logger.setAdditive(true);
        logger.setLevel(level);
    }

    @Test
    void manyFailuresAreOneLine() {
        for (int i = 0; i < 1_000; i++) {
            fail("order:" + i);
        }
        assertThat(warned()).singleElement().asString().contains("'order:0'", "(0 other failures");

        time.passUnnoticed(Duration.ofSeconds(10));
        fail("order:1");

        assertThat(warned()).hasSize(2).last().asString().contains("'order:1'", "(999 other failures");
    }

    private void fail(String name) {
        warnings.failed(name, Duration.ofSeconds(20), new IllegalStateException("no answer"));
    }

    private List<String> warned() {
        return lines.list.stream()
                .filter(line -> line.getLevel().isGreaterOrEqual(Level.WARN))
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }
}
