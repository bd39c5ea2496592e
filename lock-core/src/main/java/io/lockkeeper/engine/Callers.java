/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockWait;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The callers of this JVM who have asked for a lock and have no answer yet. */
final class Callers {

    /** A listener may hear several engines, so numbers are unique in the process. */
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final TimeSource clock;
    private final LockListener listener;
    private final Set<Caller> waiting = ConcurrentHashMap.newKeySet();

    Callers(TimeSource clock, LockListener listener) {
        this.clock = clock;
        this.listener = listener;
    }

    /** Tells that a caller asks, on its thread. */
    Caller asks(LockRequest request) {
        Caller caller = new Caller(this, NUMBERS.incrementAndGet(), request);
        waiting.add(caller);
        listener.onAsked(new LockListener.Asked(caller.number, request));
        return caller;
    }

    /** A caller has its answer. */
    void answered(Caller caller) {
        waiting.remove(caller);
    }

    List<LockWait> waiting() {
        return waiting.stream()
                .map(caller -> new LockWait(
                        caller.request.names(), caller.request.mode(), caller.request.label(), caller.waited()))
                .toList();
    }

    TimeSource clock() {
        return clock;
    }

    LockListener listener() {
        return listener;
    }
}
