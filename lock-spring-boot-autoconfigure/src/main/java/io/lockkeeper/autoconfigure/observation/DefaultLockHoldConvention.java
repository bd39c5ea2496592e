/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.HighCardinalityKeys;
import io.lockkeeper.autoconfigure.observation.LockObservationDocumentation.LowCardinalityKeys;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;

/** The names and tags of holds as {@link LockObservationDocumentation#HOLD} documents them. */
public class DefaultLockHoldConvention implements LockHoldConvention {

    static final DefaultLockHoldConvention INSTANCE = new DefaultLockHoldConvention();

    @Override
    public String getName() {
        return "lockkeeper.hold";
    }

    @Override
    public String getContextualName(LockHoldContext context) {
        return "lock hold";
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(LockHoldContext context) {
        HoldOutcome outcome = context.getOutcome();
        return KeyValues.of(
                LowCardinalityKeys.LABEL.withValue(
                        LockTags.label(context.getRequest().label())),
                LowCardinalityKeys.MODE.withValue(
                        LockTags.mode(context.getRequest().mode())),
                LowCardinalityKeys.OUTCOME.withValue(outcome == null ? KeyValue.NONE_VALUE : outcome.tag()));
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(LockHoldContext context) {
        return KeyValues.of(
                HighCardinalityKeys.NAME.withValue(
                        String.join(",", context.getRequest().names())),
                HighCardinalityKeys.TOKEN.withValue(Long.toString(context.getFencingToken())));
    }
}
