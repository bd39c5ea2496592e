/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.HighCardinalityKeys;
import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.LowCardinalityKeys;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * How acquisitions are named and tagged in metrics and spans: as {@link LockObservationDocumentation#ACQUIRE} documents
 * it, but for what a bean of this type overrides.
 */
public interface LockAcquireConvention extends ObservationConvention<LockAcquireContext> {

    @Override
    default boolean supportsContext(Observation.Context context) {
        return context instanceof LockAcquireContext;
    }

    @Override
    default String getName() {
        return "lockkeeper.acquire";
    }

    @Override
    default String getContextualName(LockAcquireContext context) {
        return "lock acquire";
    }

    @Override
    default KeyValues getLowCardinalityKeyValues(LockAcquireContext context) {
        return LowCardinalityKeys.values(context.getRequest(), context.getOutcome());
    }

    @Override
    default KeyValues getHighCardinalityKeyValues(LockAcquireContext context) {
        return HighCardinalityKeys.values(context.getRequest());
    }
}
