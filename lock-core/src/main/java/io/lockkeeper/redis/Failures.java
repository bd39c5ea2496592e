/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.CommandNotExecutedException;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;

/**
 * What servers and clients say of failures: the server's answer, wrapped differently by each client.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 */
public final class Failures {

    private static final byte[] NOT_HELD = RedisNames.bytes("NOT_HELD ");

    private Failures() {}

    /** Returns the message of the innermost cause, in one line without its full stop; its type where it has none. */
    public static String rootMessage(Throwable failure) {
        Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
        String message = root.getMessage() == null ? root.toString() : root.getMessage();
        return message.strip()
                .replaceAll("\\.?\\s*\\n\\s*(Details:\\s*)?", "; ")
                .replaceAll("\\.$", "");
    }

    /** Returns a failure of a command as one of the store. */
    public static StoreException at(String command, Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof StoreException explained
                ? explained
                : new StoreException("Redis failed at " + command + ": " + rootMessage(cause), cause);
    }

    /** Returns a failure of a command of which no copy has run, nor will. */
    public static StoreException notExecuted(String command, Throwable failure) {
        StoreException known = at(command, failure);
        return new CommandNotExecutedException(String.valueOf(known.getMessage()), known.getCause());
    }

    /** Returns a failure with a sentence that says what to do. */
    static StoreException advised(Throwable failure, String advice) {
        StoreException known = at("a script", failure);
        String message = known.getMessage() + ". " + advice;
        return known instanceof CommandNotExecutedException
                ? new CommandNotExecutedException(message, known.getCause())
                : new StoreException(message, known.getCause());
    }

    /** Returns a failure of what took more than one command, of which another one may have run. */
    static Throwable inDoubt(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        return cause instanceof CommandNotExecutedException
                ? new StoreException(String.valueOf(cause.getMessage()), cause.getCause())
                : failure;
    }

    /** Returns the failure of a command to which no answer came in time. */
    public static StoreException silence(String command, Duration limit) {
        return new StoreException("Redis did not answer to " + command + " within " + limit.toMillis() + " ms", null);
    }

    /** Fails the answer to a command after a while, unless it is there by then. */
    public static void after(
            Duration limit, ScheduledExecutorService timer, CompletableFuture<?> answer, String command) {
        after(limit, timer, answer, () -> silence(command, limit), () -> {});
    }

    /** Fails an answer after a while, unless it is there by then, and runs something after that. */
    public static void after(
            Duration limit,
            ScheduledExecutorService timer,
            CompletableFuture<?> answer,
            Supplier<StoreException> silence,
            Runnable onSilence) {
        Runnable end = () -> {
            if (answer.completeExceptionally(silence.get())) {
                onSilence.run();
            }
        };
        ScheduledFuture<?> timeout = timer.schedule(end, limit.toNanos(), TimeUnit.NANOSECONDS);
        answer.whenComplete((reply, failure) -> timeout.cancel(false));
    }

    /** Returns the failure of a command after the end. */
    public static StoreException closed() {
        return new StoreException("the lock store is closed", null);
    }

    /** Returns whether nothing was heard of the server: it may only be slow. */
    static boolean isSilence(Throwable failure) {
        return causes(failure).anyMatch(cause -> {
            String message = String.valueOf(cause.getMessage());
            // Each client has a type of its own for this, and its pool has none.
            return cause.getClass().getSimpleName().endsWith("TimeoutException")
                    || message.startsWith("Redis did not answer")
                    || message.startsWith("Timeout waiting for idle object")
                    || Stream.of(cause.getSuppressed()).anyMatch(Failures::isSilence);
        });
    }

    private static Stream<Throwable> causes(Throwable failure) {
        return Stream.iterate(failure, Objects::nonNull, Throwable::getCause);
    }

    /** Returns whether a reply is a failure, and one of its causes has a text in its message. */
    public static boolean says(@Nullable Object reply, String text) {
        return reply instanceof Throwable failure
                && causes(failure)
                        .anyMatch(cause -> String.valueOf(cause.getMessage()).contains(text));
    }

    /** Returns whether a reply is that a server takes no writes, or nothing at all, because it follows a master. */
    public static boolean isOfReplica(@Nullable Object reply) {
        return says(reply, "READONLY") || says(reply, "MASTERDOWN");
    }

    /** Returns whether a reply is that a connection lacks the password, or has another one. */
    public static boolean isOfPassword(@Nullable Object reply) {
        return says(reply, "NOAUTH") || says(reply, "WRONGPASS");
    }

    /** Returns whether the user lacks a right, for a command or for one of those in a script. */
    static boolean isOfRight(Throwable failure) {
        return says(failure, "NOPERM") || says(failure, "The user executing the script");
    }

    /** Returns whether a command names several keys of a slot that moves to another master: neither takes it. */
    static boolean isOfMovingSlot(Throwable failure, List<?> keys) {
        return keys.size() > 1 && says(failure, "TRYAGAIN");
    }

    /**
     * Returns whether a script says that its attempt does not hold the lock. Of a command that was sent twice that is
     * no answer: the first copy may have ended the hold, and the next holder may have come and gone since.
     */
    public static boolean isNotHeld(@Nullable Object reply) {
        return reply instanceof byte[] text
                && Arrays.equals(text, 0, Math.min(text.length, NOT_HELD.length), NOT_HELD, 0, NOT_HELD.length);
    }

    /** Returns the failure of a command that was sent twice, the second time {@linkplain #isNotHeld late}. */
    public static StoreException mayHaveRunBefore() {
        return new StoreException(
                "the connection was lost, and Redis does not know whether the first copy of the command ended the hold",
                null);
    }
}
