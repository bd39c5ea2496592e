/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A caller of this instance who has asked for locks and has no answer yet.
 *
 * @param names the locks' names
 * @param mode how they are to be held
 * @param label the label of the request; null: none
 * @param waited the time since the call
 */
public record LockWait(
        List<String> names, LockMode mode, @Nullable String label, Duration waited) {}
