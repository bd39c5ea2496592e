/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.lockkeeper.LockRequest;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What is observed of locks. */
public enum LockObservationDocumentation implements ObservationDocumentation {

    /** From the call for a lock until its caller has it, or has none. */
    ACQUIRE,

    /**
     * From the grant until the release or the loss. Current while the body of an annotated method, or one that was
     * given to {@code execute}, {@code run} or {@code tryRun}, runs; nowhere else.
     */
    HOLD;

    static final Observation.Event LOST = Observation.Event.of("lost", "lock lost");

    @Override
    public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
        return this == ACQUIRE ? LockAcquireConvention.class : LockHoldConvention.class;
    }

    @Override
    public KeyName[] getLowCardinalityKeyNames() {
        return LowCardinalityKeys.values();
    }

    @Override
    public KeyName[] getHighCardinalityKeyNames() {
        return this == ACQUIRE ? new KeyName[] {HighCardinalityKeys.NAME} : HighCardinalityKeys.values();
    }

    @Override
    public Observation.Event[] getEvents() {
        return this == ACQUIRE ? new Observation.Event[0] : new Observation.Event[] {LOST};
    }

    /** Keys with few values, which are tags of the timers too. */
    public enum LowCardinalityKeys implements KeyName {

        /** The label of the request, which for an annotated method is {@code Class.method}; or {@code none}. */
        LABEL,

        /** How the lock is shared: {@code exclusive}, {@code fair}, {@code read} or {@code write}. */
        MODE,

        /** How it ended, in lower case; {@code none} while it goes on. */
        OUTCOME;

        @Override
        public String asString() {
            return text(this);
        }

        static KeyValues values(LockRequest request, @Nullable Enum<?> outcome) {
            String label = request.label();
            return KeyValues.of(
                    LABEL.withValue(label == null ? KeyValue.NONE_VALUE : label),
                    MODE.withValue(text(request.mode())),
                    OUTCOME.withValue(outcome == null ? KeyValue.NONE_VALUE : text(outcome)));
        }
    }

    /** Keys with many values, for spans alone. */
    public enum HighCardinalityKeys implements KeyName {

        /** The locks' names, with commas between them. */
        NAME,

        /** The fencing token of the first name. */
        TOKEN;

        @Override
        public String asString() {
            return "lock." + text(this);
        }

        static KeyValues values(LockRequest request) {
            return KeyValues.of(NAME.withValue(String.join(",", request.names())));
        }
    }

    static String text(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
