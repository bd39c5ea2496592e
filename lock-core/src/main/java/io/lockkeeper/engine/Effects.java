package io.lockkeeper.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

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

    void perform() {
        pending.forEach(Runnable::run);
    }
}
