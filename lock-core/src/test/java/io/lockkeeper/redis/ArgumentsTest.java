/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lockkeeper.store.ReleaseCommand;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What scripts are given. */
class ArgumentsTest {

    private static List<byte[]> release(String attempt) {
        return Arguments.release(new ReleaseCommand(List.of("stock"), attempt, 17, 250));
    }

    @Test
    void partsHaveFixedLengths() {
        assertThat(release("clientAAAAAA00000001"))
                .containsExactly(
                        RedisNames.bytes("clientAAAAAA000000010000000000000017"), RedisNames.bytes("0000000000250"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "short", "clientAAAAAA000000001"})
    void anAttemptOfAnotherLengthIsRefused(String attempt) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> release(attempt))
                .withMessage("'%s' must have 20 characters, but has %d", attempt, attempt.length());
    }
}
