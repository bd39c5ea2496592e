/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import org.slf4j.Logger;

/** Logs what handlers of errors say: where the log has no memory either, what they do next matters more. */
final class ErrorLog {

    private ErrorLog() {}

    /** Logs at ERROR; the last argument is the error. */
    static void error(Logger log, String format, Object... arguments) {
        quietly(() -> log.error(format, arguments));
    }

    /** Logs an error at WARN, without its stack. */
    static void warn(Logger log, String format, Throwable error) {
        quietly(() -> log.warn(format, error.toString()));
    }

    private static void quietly(Runnable line) {
        try {
            line.run();
        } catch (Throwable unsaid) {
            // The step goes on without its line.
        }
    }
}
