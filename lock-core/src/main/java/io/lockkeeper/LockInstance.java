/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A process that holds a lock or waits for one, as it described itself. Two are equal where they are the same instance,
 * whatever is known of what it holds.
 *
 * @param id the instance's own id, unique for each start
 * @param application the instance's name, that of its application unless it has one of its own; the id where it is
 *     unknown
 * @param host the host's name; empty where it is unknown
 * @param pid the process id on that host; 0 where it is unknown
 * @param since when the instance started to use locks; {@link Instant#EPOCH} where it is unknown
 * @param heldSince for a holder, when it got the lock, by the clock of the server where that has one; null where it is
 *     unknown, and for a waiter
 * @param waitingSince for a waiter, when the first of its callers asked, by its own clock; null where that is unknown,
 *     and for a holder
 * @param label the label of the request that holds or waits; null: it has none, or this is another instance
 * @param thread the thread that made the request, by name, or by id where it has no name; null: this is another
 *     instance
 * @param fencingToken the token of the hold; null: this is another instance, or a waiter
 * @param service the name that all instances of one application have; that of the instance where it is unknown
 */
public record LockInstance(
        String id,
        String application,
        String host,
        long pid,
        Instant since,
        @Nullable Instant heldSince,
        @Nullable Instant waitingSince,
        @Nullable String label,
        @Nullable String thread,
        @Nullable Long fencingToken,
        String service) {

    /** Describes an instance of which nothing else is known. */
    public LockInstance(String id, String application, String host, long pid, Instant since) {
        this(id, application, host, pid, since, null, null, null, null, null, application);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockInstance instance
                && id.equals(instance.id)
                && application.equals(instance.application)
                && host.equals(instance.host)
                && pid == instance.pid
                && since.equals(instance.since);
    }

    @Override
    public int hashCode() {
        return Objects.hash(id, application, host, pid, since);
    }
}
