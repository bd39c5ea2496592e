/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.HighCardinalityKeys;
import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.LowCardinalityKeys;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;

/** The names and tags of acquisitions as {@link LockObservationDocumentation#ACQUIRE} documents them. */
public class DefaultLockAcquireConvention implements LockAcquireConvention {

    static final DefaultLockAcquireConvention INSTANCE = new DefaultLockAcquireConvention();

    @Override
    public String getName() {
        return "lockkeeper.acquire";
    }

    @Override
    public String getContextualName(LockAcquireContext context) {
        return "lock acquire";
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(LockAcquireContext context) {
        AcquireOutcome outcome = context.getOutcome();
        return KeyValues.of(
                LowCardinalityKeys.LABEL.withValue(
                        LockTags.label(context.getRequest().label())),
                LowCardinalityKeys.MODE.withValue(
                        LockTags.mode(context.getRequest().mode())),
                LowCardinalityKeys.OUTCOME.withValue(outcome == null ? KeyValue.NONE_VALUE : outcome.tag()));
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(LockAcquireContext context) {
        return KeyValues.of(HighCardinalityKeys.NAME.withValue(
                String.join(",", context.getRequest().names())));
    }
}
