/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.Arrays;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What was decided under a lock, to be done after that: answers to callers at once, commands as it may be. Callers wait for
 * each of them, so one that fails is done again a little later, and does not keep the others from being done.
 */
final class Effects extends Recovery.Task {

    private static final Logger log = LoggerFactory.getLogger(Effects.class);
    private static final int MOST_TRIES = 40;

    private final Executor commands;
    private final Recovery recovery;
    private @Nullable Runnable[] pending = new Runnable[2];
    private int size;
    private int tries;
    private @Nullable Throwable failure;

    /**
     * Creates an empty list.
     *
     * @param commands where commands to the store run, which may block: the caller itself, or other threads
     * @param recovery has done again what fails
     */
    Effects(Executor commands, Recovery recovery) {
        this.commands = commands;
        this.recovery = recovery;
    }

    /** Adds something that may be done twice, where it fails in the middle. */
    void answer(Runnable answer) {
        if (size == pending.length) {
            pending = Arrays.copyOf(pending, 2 * size);
        }
        pending[size] = answer;
        size++;
    }

    void command(Runnable command) {
        answer(() -> commands.execute(command));
    }

    /** Does all of it, also where something fails. */
    void perform() {
        boolean failed = false;
        for (int i = 0; i < size; i++) {
            Runnable effect = pending[i];
            if (effect != null) {
                try {
                    effect.run();
                    pending[i] = null;
                } catch (Throwable error) {
                    // No call here: the stack may be at its end.
                    failure = error;
                    failed = true;
                }
            }
        }
        if (failed) {
            synchronized (recovery) {
                if (!noted) {
                    noted = true;
                    next = recovery.first;
                    recovery.first = this;
                }
            }
            armRecovery();
        }
    }

    private void armRecovery() {
        try {
            recovery.arm();
        } catch (Throwable error) {
            // It is armed as long as anything is going on, and by the next caller.
            failure = error;
        }
    }

    @Override
    void recover() {
        tries++;
        if (tries == 1) {
            log.error("Something failed, and is done again", failure);
        }
        if (tries <= MOST_TRIES) {
            perform();
        } else {
            log.error("Something failed again and again, and is given up", failure);
        }
    }
}
