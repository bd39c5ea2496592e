/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockMode;
import io.micrometer.common.KeyValue;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What meters and observations are tagged by. A lock's name is never among it. */
final class LockTags {

    static final String LABEL = "label";
    static final String MODE = "mode";
    static final String OUTCOME = "outcome";

    private LockTags() {}

    static String label(@Nullable String label) {
        return label == null ? KeyValue.NONE_VALUE : label;
    }

    static String mode(LockMode mode) {
        return mode.name().toLowerCase(Locale.ROOT);
    }
}
