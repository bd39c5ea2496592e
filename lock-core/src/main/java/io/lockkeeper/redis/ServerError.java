/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What errors of the server mean. Their texts are the same whatever client wraps them. */
final class ServerError {

    private static final List<String> WRONG_SERVER = List.of("MOVED ", "ASK ", "TRYAGAIN", "CLUSTERDOWN");

    private ServerError() {}

    static boolean isUnknownScript(@Nullable Object reply) {
        return says(reply, "NOSCRIPT");
    }

    /** Returns whether the server is a replica and takes no writes. */
    static boolean isFromReplica(@Nullable Object reply) {
        return says(reply, "READONLY");
    }

    /** Returns whether another node of the cluster should be asked, or this one later. */
    static boolean isFromWrongServer(Throwable failure) {
        return WRONG_SERVER.stream().anyMatch(begin -> says(failure, begin));
    }

    /** Returns whether a command names several keys of a slot that is on its way to another master: neither takes it. */
    static boolean isOfMovingSlot(Throwable failure, List<?> keys) {
        return keys.size() > 1 && says(failure, "TRYAGAIN");
    }

    private static boolean says(@Nullable Object reply, String word) {
        if (!(reply instanceof Throwable failure)) {
            return false;
        }
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause.getMessage() != null && cause.getMessage().contains(word)) {
                return true;
            }
        }
        return false;
    }
}
