/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class FairnessWindowTest {

    private final AtomicLong clock = new AtomicLong(-5);
    private final Quorum.FairnessWindow window = new Quorum.FairnessWindow(clock::get);

    @Test
    void aLockRestsAfterATurnOfThisInstance() {
        assertThat(window.mayGoOn("x", "1", "2")).isTrue();
        pass(499);
        assertThat(window.mayGoOn("x", "2", "3")).isTrue();
        assertThat(window.mayGoOn("y", "7", "8")).isTrue();
        pass(1);
        assertThat(window.mayGoOn("x", "3", "4")).isFalse();
        assertThat(window.mayGoOn("x", "5", "6")).isTrue();
        window.ended("x", "6");
        window.ended("y", "8");
        assertThat(window.turns).isEmpty();
    }

    @Test
    void theEndOfAnAttemptThatDidNotGetTheLockProlongsNoTurn() {
        assertThat(window.mayGoOn("x", "1", "2")).isTrue();
        pass(400);
        window.ended("x", "1");
        window.ended("x", "9");
        pass(100);

        assertThat(window.mayGoOn("x", "2", "3")).isFalse();
    }

    @Test
    void aTurnThatEndedBeginsAnew() {
        assertThat(window.mayGoOn("x", "1", "2")).isTrue();
        pass(400);
        window.ended("x", "2");
        pass(100);

        assertThat(window.mayGoOn("x", "3", "4")).isTrue();
    }

    private void pass(long millis) {
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }
}
