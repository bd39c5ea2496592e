/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Another holder had the lock during the whole wait, or at every attempt. */
public final class LockNotAcquiredException extends LockException {

    private static final long serialVersionUID = 1L;

    private final transient List<String> names;
    private final Duration waited;
    private final int attempts;
    private final transient @Nullable LockInstance holder;

    /** Creates the exception; the holder is null where it is unknown. */
    public LockNotAcquiredException(List<String> names, Duration waited, int attempts, @Nullable LockInstance holder) {
        super(message(names, waited, attempts, holder), null);
        this.names = List.copyOf(names);
        this.waited = waited;
        this.attempts = attempts;
        this.holder = holder;
    }

    private static String message(List<String> names, Duration waited, int attempts, @Nullable LockInstance holder) {
        String lock = names.size() == 1 ? "Lock '" + names.get(0) + "'" : "Locks " + names;
        String tries = attempts > 1 ? " and " + attempts + " attempts" : "";
        return lock + " not acquired after " + waited.toMillis() + " ms" + tries + ": held by " + named(holder);
    }

    private static String named(@Nullable LockInstance holder) {
        if (holder == null) {
            return "another caller";
        }
        return holder.thread() == null
                ? holder.application() + " (host " + holder.host() + ", pid " + holder.pid() + ")"
                : "this instance, thread '" + holder.thread() + "'";
    }

    /** Returns the names that were asked for. */
    public List<String> names() {
        return names;
    }

    /** Returns how long the caller waited. */
    public Duration waited() {
        return waited;
    }

    /** Returns how often the caller tried: 1 unless the request allowed retries. */
    public int attempts() {
        return attempts;
    }

    /** Returns who held the lock at the last look; empty where that is unknown. */
    public Optional<LockInstance> holder() {
        return Optional.ofNullable(holder);
    }
}
