/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Runs work in a level that is on its way, and ends the level when the stage that follows from the work is completed.
 *
 * @param <B> what the work returns
 * @param <T> the result of the stage
 */
final class StageExecution<B extends @Nullable Object, T extends @Nullable Object> {

    private final LockedAction<? extends B, ?> action;
    private final Function<? super B, ? extends @Nullable CompletionStage<T>> end;
    private final Function<EnteredLease, LockEntrance.Body> bodies;
    private final BiConsumer<EnteredLease, Runnable> release;
    private final UnaryOperator<Runnable> decorator;
    private final CompletableFuture<T> result = new CompletableFuture<>();

    StageExecution(
            LockedAction<? extends B, ?> action,
            Function<? super B, ? extends @Nullable CompletionStage<T>> end,
            Function<EnteredLease, LockEntrance.Body> bodies,
            BiConsumer<EnteredLease, Runnable> release,
            UnaryOperator<Runnable> decorator) {
        this.action = action;
        this.end = end;
        this.bodies = bodies;
        this.release = release;
        this.decorator = decorator;
    }

    CompletableFuture<T> run(CompletableFuture<EnteredLease> entering) {
        Runnable follow = () -> {
            EnteredLease level = entering.join();
            follow(begin(level), level);
        };
        Thread caller = Thread.currentThread();
        Runnable elsewhere = entering.isDone() ? follow : decorated(follow);
        entering.whenComplete((level, failure) -> {
            if (level == null) {
                result.completeExceptionally(failure);
            } else if (result.isDone()) {
                // The caller has cancelled or completed the result, and nobody else would end the level.
                release.accept(level, () -> {});
            } else {
                // On the caller's thread without the copy of its context, which could clear the context at its end.
                begin(Thread.currentThread() == caller ? follow : elsewhere, level);
            }
        });
        result.whenComplete((value, failure) -> entering.cancel(false));
        return result;
    }

    private Runnable decorated(Runnable body) {
        try {
            return decorator.apply(body);
        } catch (Throwable failure) {
            result.completeExceptionally(failure);
            return body;
        }
    }

    private void begin(Runnable body, EnteredLease level) {
        try {
            body.run();
        } catch (Throwable failure) {
            // That of a decorator, which may not have come to the body.
            result.completeExceptionally(failure);
            release.accept(level, () -> {});
        }
    }

    private CompletionStage<T> begin(EnteredLease level) {
        CompletionStage<T> stage;
        try {
            stage = end.apply(inside(level));
        } catch (Throwable failure) {
            return CompletableFuture.failedFuture(failure);
        }
        @SuppressWarnings("NullAway") // A null stage counts as one that is completed with null.
        CompletionStage<T> work = stage == null ? CompletableFuture.completedFuture(null) : stage;
        return work;
    }

    private B inside(EnteredLease level) throws Throwable {
        Runnable leave = LockContext.enterThread(level);
        try (LockEntrance.Body body = bodies.apply(level)) {
            return action.run(level);
        } finally {
            leave.run();
        }
    }

    /** The level ends once, with the stage or with the result, whichever is first; the result waits for the release. */
    private void follow(CompletionStage<T> stage, EnteredLease level) {
        CompletableFuture<T> ended = new CompletableFuture<>();
        ended.whenComplete((value, failure) -> release.accept(level, () -> complete(result, value, failure)));
        try {
            stage.whenComplete((value, failure) -> complete(ended, value, failure));
        } catch (Throwable failure) {
            // A stage of the caller's own that cannot be followed.
            ended.completeExceptionally(failure);
        }
        result.whenComplete((value, failure) -> {
            ended.cancel(true);
            if (stage instanceof Future<?> work && !isShared(work)) {
                // Last, because there are stages that refuse it with an exception.
                work.cancel(true);
            }
        });
    }

    /** Returns whether others wait for the work as well, besides this execution: one caller does not end theirs. */
    private static boolean isShared(Future<?> work) {
        return work instanceof CompletableFuture<?> future && future.getNumberOfDependents() > 1;
    }

    private static <T extends @Nullable Object> void complete(
            CompletableFuture<T> future, T value, @Nullable Throwable failure) {
        if (failure == null) {
            future.complete(value);
        } else {
            future.completeExceptionally(failure);
        }
    }
}
