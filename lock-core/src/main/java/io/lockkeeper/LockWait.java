/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A caller of this instance who has asked for locks and has no answer yet.
 *
 * @param names the locks' names
 * @param mode how they are to be held
 * @param label the label of the request; null: none
 * @param waited the time since the call
 * @param waitingSince when the caller asked; null where that is unknown
 * @param thread the thread that asked, by name, or by id where it has no name; null where it is unknown
 */
public record LockWait(
        List<String> names,
        LockMode mode,
        @Nullable String label,
        Duration waited,
        @Nullable Instant waitingSince,
        @Nullable String thread) {

    /** Describes a caller of whom nothing else is known. */
    public LockWait(List<String> names, LockMode mode, @Nullable String label, Duration waited) {
        this(names, mode, label, waited, null, null);
    }
}
