/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.redis.RedisNames;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** How often a command was sent, and what follows from that. */
class PipelinedCommandTest {

    private final PipelinedCommand command =
            new PipelinedCommand(Duration.ofSeconds(10), 0, "time", RedisNames.bytes("TIME"));

    @Test
    void oneWhoseAnswerWasNotAwaitedMayHaveRun() {
        command.send();
        assertThat(command.mayHaveRun()).isFalse();
        command.notAwaited();
        command.send();
        assertThat(command.mayHaveRun()).isTrue();
    }

    @Test
    void oneThatWasNotSentHasNotRun() {
        command.notAwaited();
        command.send();
        assertThat(command.mayHaveRun()).isFalse();
        command.send();
        assertThat(command.mayHaveRun()).isTrue();
    }

    @Test
    void sendsWhoseAnswersWereNotAwaitedDoNotCount() {
        for (int i = 0; i < 10; i++) {
            command.send();
            command.notAwaited();
        }
        assertThat(command.maySend()).isTrue();
    }
}
