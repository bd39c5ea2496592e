/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockRequestTest {

    private final LockRequest request = LockRequest.of("name");

    @Test
    void namesCollapseAndKeepTheirOrder() {
        assertThat(LockRequest.of("b", "a", "b").names()).containsExactly("b", "a");
        assertThat(LockRequest.of(List.of("x")).mode()).isEqualTo(LockMode.EXCLUSIVE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\t\n", "half a pair \ud83d", "a pair turned \udd12\ud83d", "\ud83d half a pair"})
    void unusableNamesAreRefused(String name) {
        assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of("good", name));
    }

    @Test
    void theLimitIsInBytes() {
        assertThat(LockRequest.of("ü".repeat(256)).names()).hasSize(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockRequest.of("ü".repeat(257)))
                .withMessageContaining("512 bytes");
        assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of("x".repeat(1_000_000)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "\u007f", "\u0080", "\u07ff", "\u0800", "\uffff", "\ud83d\udd12", "\udbff\udfff"})
    void theLimitCountsWhatUtf8Needs(String letter) {
        String longest = letter.repeat(512 / letter.getBytes(StandardCharsets.UTF_8).length);
        String filled = longest + "x".repeat(512 - longest.getBytes(StandardCharsets.UTF_8).length);
        assertThat(LockRequest.of(filled).names()).containsExactly(filled);
        assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of(filled + "x"));
    }

    @Test
    void noNullIsAName() {
        assertThatNullPointerException()
                .isThrownBy(() -> LockRequest.of("name", null))
                .withMessage("a lock name must not be null");
        assertThatNullPointerException()
                .isThrownBy(() -> LockTemplate.withoutLocking().run((String) null, lease -> {}))
                .withMessage("a lock name must not be null");
    }

    @Test
    void noNameIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(LockRequest::of);
        assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.of(List.of()));
    }

    @Test
    void nonsenseIsRefusedAndSaysWhatToDo() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> request.withWaitTime(Duration.ofMillis(-1)))
                .withMessageContaining("zero means");
        assertThatIllegalArgumentException().isThrownBy(() -> request.withLeaseTime(Duration.ZERO));
        assertThatIllegalArgumentException().isThrownBy(() -> request.withLeaseTime(Duration.ofMillis(99)));
        assertThatIllegalArgumentException().isThrownBy(() -> request.withRetries(-1, Duration.ofMillis(1)));
        assertThatIllegalArgumentException().isThrownBy(() -> request.withRetries(1, Duration.ZERO));
        assertThatIllegalArgumentException().isThrownBy(() -> request.withMinHoldTime(Duration.ofNanos(-1)));
    }

    @Test
    void withersKeepTheRest() {
        LockRequest full = request.withMode(LockMode.FAIR)
                .withWaitTime(Duration.ZERO)
                .withLeaseTime(Duration.ofMillis(100))
                .withRetries(2, Duration.ofMillis(5))
                .withMinHoldTime(Duration.ofSeconds(1))
                .withLabel("Shop.sell");
        assertThat(full)
                .isEqualTo(new LockRequest(
                        List.of("name"),
                        LockMode.FAIR,
                        Duration.ZERO,
                        Duration.ofMillis(100),
                        2,
                        Duration.ofMillis(5),
                        Duration.ofSeconds(1),
                        "Shop.sell"));
    }
}
