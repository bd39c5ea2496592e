/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

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
