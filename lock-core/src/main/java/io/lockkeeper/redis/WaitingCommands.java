/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import io.lockkeeper.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The commands that have not been sent yet, in the order in which they came. */
final class WaitingCommands {

    private static final int LARGEST_BATCH = 128;

    private final Queue<PendingCommand> commands = new ConcurrentLinkedQueue<>();
    private final Executor answers;

    /**
     * Creates an empty queue.
     *
     * @param answers completes what nobody waits for on a thread of its own
     */
    WaitingCommands(Executor answers) {
        this.answers = answers;
    }

    void add(PendingCommand command) {
        commands.add(command);
    }

    boolean isEmpty() {
        return commands.isEmpty();
    }

    /** Takes out what may go out together. */
    List<PendingCommand> take() {
        List<PendingCommand> batch = new ArrayList<>(1);
        while (batch.size() < LARGEST_BATCH) {
            PendingCommand next = commands.poll();
            if (next == null) {
                break;
            }
            if (!next.expire(answers)) {
                batch.add(next);
            }
        }
        return batch;
    }

    /** Returns the first one that is not over; null: there is none. */
    @Nullable
    PendingCommand first() {
        PendingCommand next = commands.peek();
        while (next != null && next.isOver()) {
            commands.remove(next);
            next = commands.peek();
        }
        return next;
    }

    /** Fails those whose time is up. */
    void expire() {
        commands.forEach(command -> command.expire(answers));
    }

    /** Fails all. */
    void refuse() {
        for (PendingCommand next = commands.poll(); next != null; next = commands.poll()) {
            next.fail(new StoreException("the lock store is closed", null), answers);
            next.complete();
        }
    }
}
