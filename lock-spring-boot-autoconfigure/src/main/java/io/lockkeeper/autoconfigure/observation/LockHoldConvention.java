/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.HighCardinalityKeys;
import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.LowCardinalityKeys;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * How holds are named and tagged in metrics and spans: as {@link LockObservationDocumentation#HOLD} documents it, but
 * for what a bean of this type overrides.
 */
public interface LockHoldConvention extends ObservationConvention<LockHoldContext> {

    @Override
    default boolean supportsContext(Observation.Context context) {
        return context instanceof LockHoldContext;
    }

    @Override
    default String getName() {
        return "lockkeeper.hold";
    }

    @Override
    default String getContextualName(LockHoldContext context) {
        return "lock hold";
    }

    @Override
    default KeyValues getLowCardinalityKeyValues(LockHoldContext context) {
        return LowCardinalityKeys.values(context.getRequest(), context.getOutcome());
    }

    @Override
    default KeyValues getHighCardinalityKeyValues(LockHoldContext context) {
        return HighCardinalityKeys.values(context.getRequest())
                .and(HighCardinalityKeys.TOKEN.withValue(Long.toString(context.getFencingToken())));
    }
}
