/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.actuate;

import io.lockkeeper.LockInstance;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockWait;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/** What the endpoint {@code locks} answers. Times are in ISO 8601. */
public sealed interface LocksDescription extends OperationResponseBody {

    /**
     * The locks of this instance.
     *
     * @param held what it holds
     * @param waiting what its callers wait for
     */
    record Here(List<Lock> held, List<Wait> waiting) implements LocksDescription {}

    /**
     * Locks by a pattern of their names.
     *
     * @param locks those that match, in no order
     */
    record Found(List<Lock> locks) implements LocksDescription {}

    /**
     * What came of a forced release.
     *
     * @param name the lock's name
     * @param released whether somebody held it
     */
    record ForcedRelease(String name, boolean released) implements LocksDescription {}

    /**
     * One lock.
     *
     * @param name its name
     * @param mode how it is held
     * @param holders who holds it
     * @param fencingToken the highest token reserved for its holder; in the list of what is held here, that of the hold
     * @param remaining how long the hold lasts without a renewal
     * @param waiters the instances that wait, in the order in which they will be served; null in the list of what is held
     *     here, for which nobody is asked
     */
    record Lock(
            String name,
            String mode,
            List<Instance> holders,
            long fencingToken,
            String remaining,
            @Nullable List<Instance> waiters)
            implements LocksDescription {

        static Lock of(LockStatus status) {
            return of(status, status.waiters().stream().map(Instance::of).toList());
        }

        static Lock heldHere(LockStatus status) {
            return of(status, null);
        }

        private static Lock of(LockStatus status, @Nullable List<Instance> waiters) {
            return new Lock(
                    status.name(),
                    status.mode().name().toLowerCase(Locale.ROOT),
                    status.holders().stream().map(Instance::of).toList(),
                    status.fencingToken(),
                    text(status.remaining()),
                    waiters);
        }
    }

    /**
     * A caller who waits.
     *
     * @param names the names that it asked for
     * @param mode how they are to be held
     * @param label the label of its request
     * @param waited how long it has waited
     */
    record Wait(List<String> names, String mode, @Nullable String label, String waited) {

        static Wait of(LockWait wait) {
            return new Wait(
                    wait.names(), wait.mode().name().toLowerCase(Locale.ROOT), wait.label(), text(wait.waited()));
        }
    }

    /**
     * An instance that holds a lock or waits for it.
     *
     * @param id its id
     * @param application its name
     * @param host where it runs
     * @param pid its process
     * @param since when it started; null where nothing is known of it but its id
     */
    record Instance(
            String id,
            String application,
            String host,
            long pid,
            @Nullable String since) {

        static Instance of(LockInstance instance) {
            String since = instance.since().equals(Instant.EPOCH)
                    ? null
                    : instance.since().toString();
            return new Instance(instance.id(), instance.application(), instance.host(), instance.pid(), since);
        }
    }

    private static String text(Duration time) {
        return time.truncatedTo(ChronoUnit.MILLIS).toString();
    }
}
