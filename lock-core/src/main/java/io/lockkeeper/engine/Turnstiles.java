/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** Lets callers of one name through one at a time, in the order in which they came. */
final class Turnstiles {

    private final Map<String, ArrayDeque<Turn>> turns = new ConcurrentHashMap<>();

    /** Takes the next place for a name. */
    Turn turn(String name) {
        return new Turn(name);
    }

    int size() {
        return turns.size();
    }

    /** One caller's place. */
    final class Turn {

        private final String name;
        private Runnable entry = () -> {};
        private boolean left;

        private Turn(String name) {
            this.name = name;
        }

        /** Runs the entry when all earlier callers have left. */
        void enter(Runnable entry) {
            this.entry = entry;
            ArrayDeque<Turn> queue = turns.compute(name, (key, before) -> {
                ArrayDeque<Turn> all = before == null ? new ArrayDeque<>() : new ArrayDeque<>(before);
                all.add(this);
                return all;
            });
            if (queue.peek() == this) {
                entry.run();
            }
        }

        /** Lets the next caller in, on another thread. Only the first call has an effect. */
        void leave(Executor executor) {
            synchronized (this) {
                if (left) {
                    return;
                }
                left = true;
            }
            ArrayDeque<Turn> rest = turns.computeIfPresent(name, (key, before) -> {
                ArrayDeque<Turn> all = new ArrayDeque<>(before);
                all.remove(this);
                return all.isEmpty() ? null : all;
            });
            if (rest != null) {
                executor.execute(rest.element().entry);
            }
        }
    }
}
