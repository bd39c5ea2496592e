/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockStoreException;
import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers to come, of the store or for callers: each is told once, whatever happens where it is told first. */
final class PendingAnswers {

    private static final Logger log = LoggerFactory.getLogger(PendingAnswers.class);

    static final CompletableFuture<?> DONE = CompletableFuture.completedFuture(null);

    private final EngineContext context;
    private final Set<Answer<?>> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger numbers = new AtomicInteger();
    private final Runnable arming;
    private final AtomicInteger underWay = new AtomicInteger();
    private volatile CompletableFuture<@Nullable Void> none = new CompletableFuture<>();

    /** How long an answer is waited for. */
    final long patienceNanos;

    private volatile long heardNanos;
    private volatile long roundTripNanos;

    /**
     * What was heard of the store.
     *
     * @param nanos when it answered last, on the monotonic clock; before the first answer, when the engine began
     * @param roundTripNanos how long it took for its last answer to whether a lock can be had
     */
    record Heard(long nanos, long roundTripNanos) {}

    /** Creates it; {@code arming} schedules the next {@link #look}. */
    PendingAnswers(EngineContext context, Runnable arming, Duration patience) {
        this.context = context;
        this.arming = arming;
        this.patienceNanos = patience.toNanos();
        this.heardNanos = context.nanoTime() - 1;
    }

    Heard heard() {
        return new Heard(heardNanos, roundTripNanos);
    }

    /** The store has just answered whether a lock can be had. */
    void heardAfter(ClockReading sent) {
        roundTripNanos = heardNanos - sent.nanos();
    }

    int size() {
        return open.size();
    }

    /** A step begins that may send commands to the store. */
    void begin() {
        underWay.incrementAndGet();
    }

    /** A step has sent its commands to the store. */
    void end() {
        if (underWay.decrementAndGet() == 0) {
            tellIfNone();
        }
    }

    /** Runs a step that may send commands to the store. */
    void run(Executor executor, Runnable commands) {
        begin();
        // The exception may come from the executor, or from the commands, which have ended in that case.
        AtomicBoolean ended = new AtomicBoolean();
        try {
            executor.execute(() -> {
                try {
                    commands.run();
                } finally {
                    endOnce(ended);
                }
            });
        } catch (Throwable failure) {
            endOnce(ended);
            throw failure;
        }
    }

    private void endOnce(AtomicBoolean ended) {
        if (ended.compareAndSet(false, true)) {
            end();
        }
    }

    private void tellIfNone() {
        if (underWay.get() == 0 && open.isEmpty()) {
            none.complete(null);
        }
    }

    /** Returns a future that completes as soon as all commands are answered. */
    CompletableFuture<?> none() {
        CompletableFuture<@Nullable Void> awaited = new CompletableFuture<>();
        none = awaited;
        tellIfNone();
        return awaited;
    }

    /**
     * Sends a command to the store and delivers its answer once; again later if the delivery throws. An overdue answer
     * is delivered as a failure, and delivered again if it comes after all.
     */
    <T> void send(Supplier<CompletableFuture<T>> command, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        await(safely(command), (reply, failure) -> {
            if (reply != null) {
                heardNanos = context.nanoTime();
            }
            then.accept(reply, failure);
        });
    }

    /** Runs a step on this thread, and again later on another one if it throws. */
    void untilDone(Runnable step) {
        try {
            step.run();
        } catch (Throwable error) {
            new Answer<>(DONE, () -> true, (done, never) -> step.run()).repeat(error);
        }
    }

    /** Delivers an answer once when it is there; again later if the delivery throws. */
    <T extends @Nullable Object> void await(
            CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        await(answer, () -> true, then);
    }

    /** As above, but forgets the answer as soon as it is not awaited any more. */
    <T extends @Nullable Object> void await(
            CompletableFuture<T> answer, BooleanSupplier isAwaited, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        new Answer<>(answer, isAwaited, then).await();
    }

    /** Returns the answer to a command; a failed one if the store throws or returns null. */
    static <T> CompletableFuture<T> safely(Supplier<CompletableFuture<T>> command) {
        try {
            CompletableFuture<T> answer = command.get();
            return answer == null
                    ? CompletableFuture.failedFuture(new StoreException("the store gave no future", null))
                    : answer;
        } catch (Throwable failure) {
            return CompletableFuture.failedFuture(failure);
        }
    }

    /** Looks for answers that could not be delivered, and for overdue ones. */
    void look() {
        open.forEach(Answer::look);
    }

    /** Waits for an answer, and fails if it does not come in time; Long.MAX_VALUE: only the store limits the wait. */
    static <T> T answer(String name, CompletableFuture<T> command, long patienceNanos) {
        try {
            CallerThread.awaitUninterruptibly(command, patienceNanos);
            if (!command.isDone()) {
                throw new CompletionException(silence(patienceNanos));
            }
            return command.join();
        } catch (CompletionException failure) {
            throw new LockStoreException(
                    "Lock '" + name + "': " + storeFailure(failure).getMessage(), failure.getCause());
        }
    }

    static StoreException silence(long nanos) {
        return new StoreException(
                "the store has not answered within " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms", null);
    }

    static StoreException storeFailure(@Nullable Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof StoreException known
                ? known
                : new StoreException("the store failed unexpectedly: " + cause, cause);
    }

    /** An answer; true while it is being delivered, and after that. */
    @SuppressWarnings("serial") // It is never written anywhere.
    private final class Answer<T extends @Nullable Object> extends AtomicBoolean {

        private final transient CompletableFuture<T> result;
        private final transient BooleanSupplier isAwaited;
        private final transient BiConsumer<@Nullable T, @Nullable Throwable> then;
        private final int number = numbers.incrementAndGet();
        private long overdueNanos;
        private volatile boolean overdue;
        private volatile boolean failed;

        private Answer(
                CompletableFuture<T> result,
                BooleanSupplier isAwaited,
                BiConsumer<@Nullable T, @Nullable Throwable> then) {
            this.result = result;
            this.isAwaited = isAwaited;
            this.then = then;
        }

        /** Makes the order of a look the same in each process, so that a simulated history can be repeated. */
        @Override
        public int hashCode() {
            return number;
        }

        private void await() {
            if (result.isDone()) {
                // On the thread that asked, whose stack was checked for room.
                tell();
            }
            if (!get()) {
                overdueNanos = result.isDone() ? 0 : context.nanoTime() + patienceNanos;
                open.add(this);
                // Not whenComplete, which would wrap a failure in another exception.
                result.handle((value, failure) -> {
                    // Without room on this stack, the next look delivers it on another thread.
                    if (StackRoom.isEnough()) {
                        tell();
                    }
                    return null;
                });
            }
        }

        private void tell() {
            if (compareAndSet(false, true)) {
                boolean told = false;
                try {
                    told = isTold(() -> result.handle(this::told).join());
                } finally {
                    set(told);
                }
            }
        }

        private boolean told(@Nullable T value, @Nullable Throwable failure) {
            then.accept(value, failure);
            return true;
        }

        /** Delivers an answer that could not be delivered before, or the silence of one that is overdue. */
        private void look() {
            if (result.isDone()) {
                context.background().execute(this::tell);
            } else if (!isAwaited.getAsBoolean()) {
                open.remove(this);
            } else if (!overdue && context.nanoTime() - overdueNanos >= 0) {
                overdue = true;
                try {
                    Throwable silence = silence(patienceNanos);
                    context.background().execute(() -> tellSilence(silence));
                } catch (Throwable refused) {
                    overdue = false;
                    throw refused;
                }
            }
        }

        /** Delivers the silence, unless the answer is delivered: the silence must not seem to be newer. */
        private void tellSilence(Throwable silence) {
            if (compareAndSet(false, true)) {
                try {
                    overdue = isTold(() -> then.accept(null, silence));
                } finally {
                    set(false);
                }
                if (result.isDone()) {
                    // It came meanwhile.
                    tell();
                }
            }
        }

        private boolean isTold(Runnable telling) {
            try {
                telling.run();
                open.remove(this);
                tellIfNone();
                return true;
            } catch (Throwable error) {
                repeat(error);
                return false;
            }
        }

        private void repeat(Throwable error) {
            // An answer whose silence was delivered has been removed.
            open.add(this);
            arming.run();
            if (!failed) {
                failed = true;
                EngineContext.quietly(log, "The delivery of an answer, or a step, failed and is repeated", null, error);
            }
        }
    }
}
