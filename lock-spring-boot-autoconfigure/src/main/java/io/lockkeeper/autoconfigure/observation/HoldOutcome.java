/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.ReleaseResult;
import java.util.Locale;

/** How a hold ended: the values of the tag {@code outcome} of {@code lockkeeper.hold}. */
public enum HoldOutcome {

    /** It was released. */
    RELEASED,

    /** It was lost: its lease ended, or it was taken away. */
    LOST,

    /** It was released, but the store did not answer. */
    UNKNOWN;

    static HoldOutcome of(ReleaseResult result) {
        return switch (result) {
            case RELEASED, ALREADY_RELEASED -> RELEASED;
            case LOST -> LOST;
            case UNKNOWN -> UNKNOWN;
        };
    }

    /** Returns the value of the tag. */
    public String tag() {
        return name().toLowerCase(Locale.ROOT);
    }
}
