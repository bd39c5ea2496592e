/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** Records what a logger says, from its creation until it is closed. */
public final class LogRecorder implements AutoCloseable {

    private final Logger logger;
    private final Level level;
    private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

    /** Starts to record. */
    public LogRecorder(Class<?> name) {
        logger = (Logger) LoggerFactory.getLogger(name);
        level = logger.getLevel();
        logger.setLevel(Level.INFO);
        appender.start();
        logger.addAppender(appender);
    }

    /** Returns what was said, each line after its level. */
    public List<String> lines() {
        synchronized (appender) { // An appender writes its list under its own monitor.
            return appender.list.stream()
                    .map(event -> event.getLevel() + " " + event.getFormattedMessage())
                    .toList();
        }
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setLevel(level);
    }
}
