/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** What a cohort decided while it was locked, to be done after that: answers to callers at once, commands as it may be. */
final class Effects {

    private final Executor commands;
    private final List<Runnable> pending = new ArrayList<>(2);

    /**
     * Creates an empty list.
     *
     * @param commands where commands to the store run, which may block: the caller itself, or other threads
     */
    Effects(Executor commands) {
        this.commands = commands;
    }

    void answer(Runnable answer) {
        pending.add(answer);
    }

    void command(Runnable command) {
        pending.add(() -> commands.execute(command));
    }

    /** Does all of it, also where something fails: each effect is somebody's answer. */
    void perform() {
        @Nullable Throwable failure = null;
        for (Runnable effect : pending) {
            try {
                effect.run();
            } catch (RuntimeException | Error failed) {
                failure = failed;
            }
        }
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException exception) {
            throw exception;
        }
    }
}
