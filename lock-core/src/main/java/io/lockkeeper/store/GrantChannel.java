/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Whether grants reach a client.
 *
 * @param expected whether the store tells of grants at all; false: callers who wait ask again and again
 * @param since since when they are told; null while they are not
 */
public record GrantChannel(boolean expected, @Nullable Instant since) {

    /** A store that tells of no grants. */
    public static final GrantChannel NONE = new GrantChannel(false, null);

    /** Returns whether grants are expected and do not come: waiters notice a free lock only when they ask again. */
    public boolean isDown() {
        return expected && since == null;
    }
}
