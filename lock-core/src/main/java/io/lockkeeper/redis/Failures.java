/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.stream.Stream;

/** What clients throw: the server's answer, wrapped differently by each of them. */
final class Failures {

    private Failures() {}

    /** Returns the message of the innermost cause; its type where it has none. */
    static String rootMessage(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }

    /** Returns whether nothing was heard of the server: it may only be slow. */
    static boolean isSilence(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            // Each client has a type of its own for this, and its pool has none.
            if (cause.getClass().getSimpleName().endsWith("TimeoutException")
                    || message.startsWith("Redis did not answer")
                    || message.startsWith("Timeout waiting for idle object")
                    || Stream.of(cause.getSuppressed()).anyMatch(Failures::isSilence)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether one of the causes has a text in its message. */
    static boolean says(Throwable failure, String text) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause.getMessage() != null && cause.getMessage().contains(text)) {
                return true;
            }
        }
        return false;
    }
}
