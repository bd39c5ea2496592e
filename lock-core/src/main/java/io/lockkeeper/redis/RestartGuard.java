/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Explains the one failure that only a store with a restart guard has: its acquire script runs INFO. */
final class RestartGuard {

    /** What servers say of a command that the user of a script may not run, or that was removed. */
    private static final List<String> REFUSALS = List.of("can't run this command", "Unknown Redis command");

    private RestartGuard() {}

    static <T> CompletableFuture<T> explain(CompletableFuture<T> answer) {
        return answer.exceptionally(failure -> {
            throw explained(failure);
        });
    }

    private static RuntimeException explained(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        String message = String.valueOf(cause.getMessage());
        return REFUSALS.stream().anyMatch(message::contains)
                ? new StoreException(
                        "the restart guard of a quorum asks each master by INFO how long it has run: permit its Redis"
                                + " user to run INFO (ACL +info). " + message,
                        cause)
                : new CompletionException(cause);
    }
}
