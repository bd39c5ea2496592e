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
        assertThat(window.mayGoOn("x")).isTrue();
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(499));
        assertThat(window.mayGoOn("x")).isTrue();
        assertThat(window.mayGoOn("y")).isTrue();
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
        assertThat(window.mayGoOn("x")).isFalse();
        assertThat(window.mayGoOn("x")).isTrue();
        window.ended("x");
        window.ended("y");
        assertThat(window.begins).isEmpty();
    }
}
