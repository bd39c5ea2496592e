/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** The bodies that run on the current thread and must not succeed when their lock is lost. */
public final class GuardedBodies {

    private static final ThreadLocal<@Nullable Deque<LossWatch>> BODIES = new ThreadLocal<>();

    private GuardedBodies() {}

    /**
     * Does nothing while the locks of all these bodies are held. To be called before what cannot be undone, such as the
     * commit of a transaction that began inside such a body.
     *
     * @throws io.lockkeeper.LockLostException if one of the locks is lost
     */
    public static void ensureHeld() {
        Deque<LossWatch> bodies = BODIES.get();
        if (bodies != null) {
            bodies.forEach(LossWatch::ensureHeld);
        }
    }

    static void enter(LossWatch body) {
        Deque<LossWatch> bodies = BODIES.get();
        if (bodies == null) {
            bodies = new ArrayDeque<>(2);
            BODIES.set(bodies);
        }
        bodies.addFirst(body);
    }

    static void leave() {
        Deque<LossWatch> bodies = BODIES.get();
        if (bodies == null) {
            return;
        }
        bodies.removeFirst();
        if (bodies.isEmpty()) {
            BODIES.remove();
        }
    }
}
