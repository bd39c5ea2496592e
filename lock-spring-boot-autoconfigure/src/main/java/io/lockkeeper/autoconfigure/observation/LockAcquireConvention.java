/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * How acquisitions are named and tagged in metrics and spans. A bean of this type takes the place of
 * {@link DefaultLockAcquireConvention}.
 */
public interface LockAcquireConvention extends ObservationConvention<LockAcquireContext> {

    @Override
    default boolean supportsContext(Observation.Context context) {
        return context instanceof LockAcquireContext;
    }
}
