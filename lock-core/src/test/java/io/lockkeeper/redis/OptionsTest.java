/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lockkeeper.redis.RedisLockStore.Options;
import java.time.Duration;
import java.util.Map;
import java.util.function.BiFunction;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The times of a store in Redis. */
class OptionsTest {

    private static final Map<String, BiFunction<Options, Duration, Options>> TIMES = Map.of(
            "command timeout", Options::withCommandTimeout,
            "grant time", Options::withGrantTime,
            "poll interval", Options::withPollInterval,
            "tombstone time", Options::withTombstoneTime);

    @ParameterizedTest
    @ValueSource(strings = {"PT0S", "PT-1S", "PT0.000999999S", "P3651D", "PT2562047788015215H30M7S"})
    void aTimeOutOfRangeIsRefusedByItsName(Duration time) {
        TIMES.forEach((name, with) -> assertThatIllegalArgumentException()
                .isThrownBy(() -> with.apply(Options.defaults(), time))
                .withMessage("The " + name + " must be 1 ms or more, and ten years at most, but is " + time));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT0.001S", "P3650D"})
    void theEndsOfTheRangeAreTaken(Duration time) {
        assertThat(Options.defaults().withTombstoneTime(time).tombstoneTime()).isEqualTo(time);
    }
}
