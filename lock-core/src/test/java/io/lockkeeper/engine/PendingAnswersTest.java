/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class PendingAnswersTest {

    private final PendingAnswers answers = new PendingAnswers(new EngineFixture().context, () -> {});

    @Test
    void commandsThatThrowOnTheThreadAtHandEndOnce() {
        IllegalStateException failure = new IllegalStateException("no look can be set");
        assertThatThrownBy(() -> answers.run(Runnable::run, () -> {
                    throw failure;
                }))
                .isSameAs(failure);

        answers.begin();
        CompletableFuture<?> none = answers.none();

        assertThat(none).isNotDone();
        answers.end();
        assertThat(none).isCompleted();
    }
}
