/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class JavaProcessTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    /** Answers each line until it is told to leave. */
    static final class Echo {

        public static void main(String[] args) throws Exception {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            System.out.println("ready " + args[0] + " " + System.getProperty("mood"));
            for (String line = in.readLine(); line != null && !line.equals("leave"); line = in.readLine()) {
                System.out.println("noise");
                System.out.println("echo " + line);
            }
            System.exit(3);
        }
    }

    @Test
    void aConversationGoesLineByLineUntilTheProcessLeaves() {
        try (JavaProcess echo = JavaProcess.start(List.of("-Dmood=good"), Echo.class, "one")) {
            assertThat(echo.expect("ready", SOON)).isEqualTo("ready one good");
            echo.send("hello");
            assertThat(echo.expect("echo", SOON)).isEqualTo("echo hello");
            echo.send("leave");
            assertThat(echo.awaitExit(SOON)).isEqualTo(3);
            assertThatThrownBy(() -> echo.expect("echo", SOON))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("ended")
                    .hasMessageContaining("noise");
        }
    }

    @Test
    void aPausedProcessSaysNothingUntilItIsResumedAndAKilledOneIsGone() {
        try (JavaProcess echo = JavaProcess.start(Echo.class, "two")) {
            echo.expect("ready two", SOON);
            echo.pause();
            echo.send("hello");
            assertThatThrownBy(() -> echo.expect("echo", Duration.ofMillis(200)))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("within");
            echo.resume();
            echo.expect("echo hello", SOON);

            echo.pause();
            echo.kill();
            assertThat(echo.isAlive()).isFalse();
        }
    }
}
