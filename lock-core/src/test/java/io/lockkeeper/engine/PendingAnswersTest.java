/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PendingAnswersTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final EngineFixture engine = new EngineFixture();
    private final PendingAnswers answers = new PendingAnswers(engine.context, () -> {}, TIMEOUT);
    private final CompletableFuture<String> answer = new CompletableFuture<>();
    private final List<String> told = new ArrayList<>();

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

    @Test
    void anAnswerThatComesWhileItsSilenceIsToldIsToldAfterIt() {
        overdue(value -> answer.complete("yes"));

        assertThat(told).containsExactly("silence", "yes");
        assertThat(answers.size()).isZero();
    }

    @Test
    void anAnswerAfterItsSilenceThatCannotBeToldIsToldAtTheNextLook() {
        overdue(value -> {
            if (told.equals(List.of("silence", "yes"))) {
                throw new IllegalStateException("not now");
            }
        });

        answer.complete("yes");
        answers.look();

        assertThat(told).containsExactly("silence", "yes", "yes");
        assertThat(answers.size()).isZero();
    }

    private void overdue(Telling telling) {
        answers.await(answer, (value, failure) -> {
            told.add(value == null ? "silence" : value);
            telling.told(value);
        });
        engine.time.passUnnoticed(TIMEOUT.multipliedBy(3));
        answers.look();
    }

    private interface Telling {
        void told(@Nullable String value);
    }
}
