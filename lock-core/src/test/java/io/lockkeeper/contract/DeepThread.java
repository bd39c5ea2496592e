/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A thread whose stack is nearly exhausted. */
final class DeepThread {

    private static final long STACK_BYTES = 512 * 1024;

    private final Runnable work;

    /** How many frames are to be given back before the work begins. */
    private int room;

    private boolean begun;
    private @Nullable Throwable failure;

    private DeepThread(Runnable work, int room) {
        this.work = work;
        this.room = room;
    }

    /**
     * Runs something where the stack has room for a few frames only.
     *
     * @param room the number of small frames that would find room
     * @param work what to run; it may end with an error
     * @return completed when it has ended, with what it threw
     */
    static CompletableFuture<@Nullable Throwable> run(int room, Runnable work) {
        CompletableFuture<@Nullable Throwable> ended = new CompletableFuture<>();
        DeepThread deep = new DeepThread(work, room);
        Thread thread = new Thread(
                null,
                () -> {
                    deep.descend();
                    ended.complete(deep.failure);
                },
                "deep",
                STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        return ended;
    }

    @SuppressWarnings("InfiniteRecursion") // That is what it is for.
    private void descend() {
        try {
            descend();
        } catch (StackOverflowError end) {
            // Each frame above the last one has a little more room.
        }
        room--;
        if (room < 0 && !begun) {
            perform();
        }
    }

    private void perform() {
        begun = true;
        try {
            work.run();
        } catch (Throwable thrown) {
            failure = thrown;
        }
    }
}
