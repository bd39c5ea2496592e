/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure.observation;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;

/** What is observed of locks. */
public enum LockObservationDocumentation implements ObservationDocumentation {

    /** From the call for a lock until its caller has it, or has none. */
    ACQUIRE {
        @Override
        public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
            return DefaultLockAcquireConvention.class;
        }

        @Override
        public KeyName[] getHighCardinalityKeyNames() {
            return new KeyName[] {HighCardinalityKeys.NAME};
        }
    },

    /**
     * From the grant until the release or the loss. Current while the body of an annotated method, or one that was given
     * to {@code execute}, {@code run} or {@code tryRun}, runs; nowhere else.
     */
    HOLD {
        @Override
        public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
            return DefaultLockHoldConvention.class;
        }

        @Override
        public KeyName[] getHighCardinalityKeyNames() {
            return HighCardinalityKeys.values();
        }

        @Override
        public Observation.Event[] getEvents() {
            return new Observation.Event[] {LOST};
        }
    };

    static final Observation.Event LOST = Observation.Event.of("lost", "lock lost");

    @Override
    public KeyName[] getLowCardinalityKeyNames() {
        return LowCardinalityKeys.values();
    }

    /** Keys with few values, which are tags of the timers too. */
    public enum LowCardinalityKeys implements KeyName {

        /** The label of the request, which for an annotated method is {@code Class.method}; or {@code none}. */
        LABEL {
            @Override
            public String asString() {
                return LockTags.LABEL;
            }
        },

        /** How the lock is shared: {@code exclusive}, {@code fair}, {@code read} or {@code write}. */
        MODE {
            @Override
            public String asString() {
                return LockTags.MODE;
            }
        },

        /** How it ended: {@link AcquireOutcome} or {@link HoldOutcome}, in lower case; {@code none} while it goes on. */
        OUTCOME {
            @Override
            public String asString() {
                return LockTags.OUTCOME;
            }
        }
    }

    /** Keys with many values, for spans alone. */
    public enum HighCardinalityKeys implements KeyName {

        /** The locks' names, with commas between them. */
        NAME {
            @Override
            public String asString() {
                return "lock.name";
            }
        },

        /** The fencing token of the first name. */
        TOKEN {
            @Override
            public String asString() {
                return "lock.token";
            }
        }
    }
}
