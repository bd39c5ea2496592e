/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockWait;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/** What the endpoint {@code locks} answers. Times are in ISO 8601. */
public sealed interface LocksDescription extends OperationResponseBody {

    /**
     * The locks of this instance.
     *
     * @param held what it holds
     * @param waiting what its callers wait for
     * @param instance this instance; null where locking is switched off
     * @param now the time of this instance
     */
    record Here(
            List<Lock> held, List<Wait> waiting, @Nullable Instance instance, String now) implements LocksDescription {}

    /**
     * Locks by a pattern of their names.
     *
     * @param locks those that match, in no order
     * @param more whether there may be more than the limit of the request lets through
     */
    record Found(List<Lock> locks, boolean more) implements LocksDescription {}

    /**
     * What came of a forced release.
     *
     * @param name the lock's name
     * @param released whether it was held
     */
    record ForcedRelease(String name, boolean released) implements LocksDescription {}

    /**
     * Why there is no other answer.
     *
     * @param reason what to change, or what failed
     */
    record Refused(String reason) implements LocksDescription {}

    /**
     * One lock.
     *
     * @param name its name
     * @param mode how it is held
     * @param holders who holds it
     * @param fencingToken the token of the hold; null where another instance holds the lock, which alone knows it
     * @param remaining how long the hold lasts without a renewal
     * @param waiters the instances that wait, in the order in which they will be served, the first hundred; null in the
     *     list of what is held here, for which the store is not asked
     * @param reservedToken the highest token that is reserved for the holder's turn; null in the list of what is held
     *     here
     * @param template whose lock it is; null where there is only one template
     * @param waiting how many callers or instances wait; null in the list of what is held here
     */
    record Lock(
            String name,
            String mode,
            List<Instance> holders,
            @Nullable Long fencingToken,
            String remaining,
            @Nullable List<Instance> waiters,
            @Nullable Long reservedToken,
            @Nullable String template,
            @Nullable Integer waiting)
            implements LocksDescription {

        /** Describes a lock; the store was not asked of one that is known because it is held here. */
        static Lock of(LockStatus status, boolean heldHere, @Nullable String template) {
            return new Lock(
                    status.name(),
                    text(status.mode()),
                    status.holders().stream().map(Instance::of).toList(),
                    status.holders().stream()
                            .map(LockInstance::fencingToken)
                            .filter(Objects::nonNull)
                            .findFirst()
                            .orElse(null),
                    text(status.remaining()),
                    heldHere
                            ? null
                            : status.waiters().stream().map(Instance::of).toList(),
                    heldHere ? null : status.fencingToken(),
                    template,
                    heldHere ? null : status.waiting());
        }
    }

    /**
     * A caller who waits.
     *
     * @param names the names that it asked for
     * @param mode how they are to be held
     * @param label the label of its request
     * @param waited how long it has waited
     * @param waitingSince when it asked
     * @param thread the thread that asked
     * @param template whose caller it is; null where there is only one template
     */
    record Wait(
            List<String> names,
            String mode,
            @Nullable String label,
            String waited,
            @Nullable String waitingSince,
            @Nullable String thread,
            @Nullable String template) {

        static Wait of(LockWait wait, @Nullable String template) {
            return new Wait(
                    wait.names(),
                    text(wait.mode()),
                    wait.label(),
                    text(wait.waited()),
                    text(wait.waitingSince()),
                    wait.thread(),
                    template);
        }
    }

    /**
     * An instance that holds a lock or waits for it.
     *
     * @param id its id
     * @param application its name: that of its application unless it has one of its own
     * @param host where it runs
     * @param pid its process
     * @param since when it started, which is not when it got the lock; null where nothing is known of it but its id
     * @param heldSince for a holder, when it got the lock; null where that is unknown
     * @param waitingSince for a waiter, when it asked; null where that is unknown
     * @param label the label of its request; null: it has none, or this is another instance
     * @param thread the thread of its request; null: this is another instance
     * @param service the name that all instances of its application have
     */
    record Instance(
            String id,
            String application,
            String host,
            long pid,
            @Nullable String since,
            @Nullable String heldSince,
            @Nullable String waitingSince,
            @Nullable String label,
            @Nullable String thread,
            String service) {

        static Instance of(LockInstance instance) {
            return new Instance(
                    instance.id(),
                    instance.application(),
                    instance.host(),
                    instance.pid(),
                    text(instance.since().equals(Instant.EPOCH) ? null : instance.since()),
                    text(instance.heldSince()),
                    text(instance.waitingSince()),
                    instance.label(),
                    instance.thread(),
                    instance.service());
        }
    }

    private static String text(LockMode mode) {
        return mode.name().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String text(@Nullable Instant time) {
        return time == null ? null : time.toString();
    }

    private static String text(Duration time) {
        return time.truncatedTo(ChronoUnit.MILLIS).toString();
    }
}
