/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;

/** Keeps what a simulation logs to itself; an error that no step has planned is a fault. */
final class SimulationLog extends TurboFilter {

    static final String PLANNED = "planned";
    private static final ThreadLocal<@Nullable Consumer<String>> HEARS = new ThreadLocal<>();

    static {
        SimulationLog filter = new SimulationLog();
        filter.start();
        ((LoggerContext) LoggerFactory.getILoggerFactory()).addTurboFilter(filter);
    }

    /** Runs something whose errors are told. */
    static <T> T hearing(Consumer<String> errors, Supplier<T> work) {
        HEARS.set(errors);
        try {
            return work.get();
        } finally {
            HEARS.remove();
        }
    }

    @Override
    public FilterReply decide(
            @Nullable Marker marker,
            Logger logger,
            Level level,
            @Nullable String format,
            Object @Nullable [] arguments,
            @Nullable Throwable failure) {
        Consumer<String> hears = HEARS.get();
        if (hears == null) {
            return FilterReply.NEUTRAL;
        }
        Throwable cause = failure != null || arguments == null || arguments.length == 0
                ? failure
                : arguments[arguments.length - 1] instanceof Throwable last ? last : null;
        if (level == Level.ERROR && (cause == null || !PLANNED.equals(cause.getMessage()))) {
            hears.accept("an error was logged: " + format + " " + cause);
        }
        return FilterReply.DENY;
    }
}
