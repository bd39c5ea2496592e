/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.store.StoreException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Goes on with what an error interrupted, such as one that says that the stack or the heap is at its end, and tells answers
 * of the store that were not told. The timer looks after both, as long as anything is going on.
 */
final class Recovery {

    private static final Logger log = LoggerFactory.getLogger(Recovery.class);
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final int MOST_TRIES = 40;

    private final TimeSource clock;
    private final Scheduler scheduler;
    private final Executor background;
    private final Set<Reply<?>> open = ConcurrentHashMap.newKeySet();

    /** What is to be done at the next look; guarded by this. */
    @Nullable
    Task first;

    private volatile boolean armed;
    private volatile BooleanSupplier busy = () -> false;
    private volatile Runnable alsoLook = () -> {};

    Recovery(TimeSource clock, Scheduler scheduler, Executor background) {
        this.clock = clock;
        this.scheduler = scheduler;
        this.background = background;
    }

    /**
     * What an error may interrupt. To note it neither calls nor allocates anything, because there may be no room for that:
     * it becomes the first task, in a block that is synchronized on the recovery, unless it is noted already.
     */
    abstract static class Task {

        @Nullable
        Task next;

        boolean noted;

        /** Goes on, on a thread that has room. */
        abstract void recover();
    }

    /** Says how to find out whether anything is going on, and what else is to be looked after. */
    void begin(BooleanSupplier busy, Runnable alsoLook) {
        this.busy = busy;
        this.alsoLook = alsoLook;
    }

    /** Sees to it that the timer looks soon. */
    void arm() {
        if (armed) {
            return;
        }
        synchronized (this) {
            if (armed) {
                return;
            }
            armed = true;
        }
        try {
            scheduler.schedule(this::look, LOOK_NANOS);
        } catch (Throwable failure) {
            armed = false;
            throw failure;
        }
    }

    private void look() {
        armed = false;
        try {
            Task due = takeAll();
            while (due != null) {
                Task task = due;
                due = task.next;
                start(task);
            }
            open.forEach(Reply::look);
            alsoLook.run();
        } finally {
            if (!open.isEmpty() || isWaiting() || busy.getAsBoolean()) {
                arm();
            }
        }
    }

    private void start(Task task) {
        synchronized (this) {
            task.noted = false;
            task.next = null;
        }
        try {
            background.execute(task::recover);
        } catch (Throwable failure) {
            note(task);
            log.error("What an error interrupted cannot be started, and is tried again", failure);
        }
    }

    /** Notes a task, where there is room for a call. */
    synchronized void note(Task task) {
        if (!task.noted) {
            task.noted = true;
            task.next = first;
            first = task;
        }
    }

    private synchronized boolean isWaiting() {
        return first != null;
    }

    private synchronized @Nullable Task takeAll() {
        Task all = first;
        first = null;
        return all;
    }

    /**
     * Gives a command to the store and waits for its answer, which is told once; one that does not come is told as a failure,
     * and again if it comes after that.
     *
     * @param command the command
     * @param patienceMillis after which the answer is overdue
     * @param then is told; again later where it throws something
     */
    <T> void ask(
            Supplier<CompletableFuture<T>> command,
            long patienceMillis,
            BiConsumer<@Nullable T, @Nullable Throwable> then) {
        long overdue = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMillis);
        Reply<T> reply = new Reply<>(safely(command), overdue, then);
        reply.await();
    }

    /** A store that throws instead of failing its answer must not leave anybody without one. */
    static <T> CompletableFuture<T> safely(Supplier<CompletableFuture<T>> command) {
        try {
            CompletableFuture<T> answer = command.get();
            return answer == null ? CompletableFuture.failedFuture(nothing()) : answer;
        } catch (Throwable failure) {
            return CompletableFuture.failedFuture(failure);
        }
    }

    private static StoreException nothing() {
        return new StoreException("the store gave nothing to wait for", null);
    }

    /** An answer to come. */
    private final class Reply<T> {

        private final CompletableFuture<T> answer;
        private final long overdueNanos;
        private final BiConsumer<@Nullable T, @Nullable Throwable> then;

        /** Whether the answer is being told; guarded by this. */
        private boolean telling;

        private volatile boolean told;
        private boolean missed;
        private int tries;

        private Reply(
                CompletableFuture<T> answer, long overdueNanos, BiConsumer<@Nullable T, @Nullable Throwable> then) {
            this.answer = answer;
            this.overdueNanos = overdueNanos;
            this.then = then;
        }

        private void await() {
            if (answer.isDone()) {
                // On the thread that asked, which looked for room.
                tell();
            } else {
                answer.whenComplete((value, failure) -> tellIfRoom());
            }
            if (!told) {
                open.add(this);
                arm();
                if (told) {
                    open.remove(this);
                }
            }
        }

        /** Where there is no room on this thread, the next look tells it on another. */
        private void tellIfRoom() {
            if (StackRoom.isEnough()) {
                tell();
            }
        }

        private void tell() {
            synchronized (this) {
                if (told || telling) {
                    return;
                }
                telling = true;
            }
            try {
                tell(value(), failure());
                told = true;
                open.remove(this);
            } catch (Throwable error) {
                tries++;
                if (tries == 1) {
                    log.error("An answer of the store could not be told, and is told again", error);
                }
            } finally {
                synchronized (this) {
                    telling = false;
                }
            }
        }

        private void tell(@Nullable T value, @Nullable Throwable failure) {
            then.accept(value, failure);
        }

        private @Nullable T value() {
            return answer.isCompletedExceptionally() ? null : answer.join();
        }

        private @Nullable Throwable failure() {
            if (!answer.isCompletedExceptionally()) {
                return null;
            }
            try {
                answer.join();
                return null;
            } catch (CompletionException failure) {
                return failure.getCause() == null ? failure : failure.getCause();
            } catch (RuntimeException cancelled) {
                return cancelled;
            }
        }

        private void look() {
            if (tries > MOST_TRIES) {
                log.error("An answer of the store could not be told");
                open.remove(this);
            } else if (answer.isDone()) {
                background.execute(this::tell);
            } else if (!missed && clock.nanoTime() - overdueNanos >= 0) {
                missed = true;
                background.execute(this::overdue);
            }
        }

        private void overdue() {
            try {
                tell(null, new StoreException("the store has not answered within its time", null));
                // If it comes all the same it is told, but it is not looked after any more.
                open.remove(this);
            } catch (Throwable error) {
                log.error("That the store has not answered could not be told, and is told again", error);
                missed = false;
            }
        }
    }
}
