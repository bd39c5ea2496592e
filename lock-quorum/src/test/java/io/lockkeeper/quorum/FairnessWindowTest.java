/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FairnessWindowTest {

    private final Quorum.FairnessWindow window = new Quorum.FairnessWindow();
    private long now = -5;

    @Test
    void aLockRestsAfterATurnOfThisInstance() {
        assertThat(mayGoOn("x", "1", "2")).isTrue();
        pass(499);
        assertThat(mayGoOn("x", "2", "3")).isTrue();
        assertThat(mayGoOn("y", "7", "8")).isTrue();
        pass(1);
        assertThat(mayGoOn("x", "3", "4")).isFalse();
        assertThat(mayGoOn("x", "5", "6")).isTrue();
        window.ended("x", "6");
        window.ended("y", "8");
        assertThat(window.turns).isEmpty();
    }

    @Test
    void theEndOfAnAttemptThatDidNotGetTheLockProlongsNoTurn() {
        assertThat(mayGoOn("x", "1", "2")).isTrue();
        pass(400);
        window.ended("x", "1");
        window.ended("x", "9");
        pass(100);

        assertThat(mayGoOn("x", "2", "3")).isFalse();
    }

    @Test
    void aTurnThatEndedBeginsAnew() {
        assertThat(mayGoOn("x", "1", "2")).isTrue();
        pass(400);
        window.ended("x", "2");
        pass(100);

        assertThat(mayGoOn("x", "3", "4")).isTrue();
    }

    private void pass(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private boolean mayGoOn(String name, String attempt, String next) {
        return window.mayGoOn(name, attempt, next, now);
    }
}
