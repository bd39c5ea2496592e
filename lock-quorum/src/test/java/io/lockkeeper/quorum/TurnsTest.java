/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class TurnsTest {

    private final AtomicLong clock = new AtomicLong(-5);
    private final Turns turns = new Turns(clock::get);

    @Test
    void aLockRestsAfterATurnOfThisInstance() {
        assertThat(turns.mayGoOn("x")).isTrue();
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(499));
        assertThat(turns.mayGoOn("x")).isTrue();
        assertThat(turns.mayGoOn("y")).isTrue();
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
        assertThat(turns.mayGoOn("x")).isFalse();
        assertThat(turns.mayGoOn("x")).isTrue();
        turns.ended("x");
        turns.ended("y");
        assertThat(turns.size()).isZero();
    }
}
