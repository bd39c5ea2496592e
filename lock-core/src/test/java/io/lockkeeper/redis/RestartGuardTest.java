/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.store.StoreException;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RestartGuardTest {

    private static final Duration LEAST = Duration.ofSeconds(32);

    private final AtomicLong nanos = new AtomicLong(-5);
    private final RestartGuard guard = new RestartGuard(LEAST, nanos::get);

    private void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    @Test
    void believesTheUptimeOfTheFirstRunOnly() {
        assertThat(guard.oldRun("a")).isEmpty();
        assertThat(guard.saw("a", "first", LEAST.toSeconds())).isTrue();
        assertThat(guard.oldRun("a")).isEqualTo("first");

        // The server has restarted, and NTP has set its clock forward since: it says that it runs since yesterday.
        assertThat(guard.saw("a", "second", 86_400)).isFalse();
        assertThat(guard.oldRun("a")).isEmpty();
        pass(LEAST.minusMillis(1));
        assertThat(guard.saw("a", "second", 86_432)).isFalse();
        pass(Duration.ofMillis(1));
        assertThat(guard.saw("a", "second", 86_432)).isTrue();
        assertThat(guard.oldRun("a")).isEqualTo("second");
    }

    @Test
    void countsFromTheFirstLookAtAYoungServer() {
        Properties info = new Properties();
        info.setProperty("run_id", "young");
        info.setProperty("uptime_in_seconds", "31");
        guard.saw(Map.of("a", info, "b", new Properties()));
        assertThat(guard.oldRun("a")).isEmpty();
        pass(LEAST);
        assertThat(guard.oldRun("a")).isEqualTo("young");
        assertThat(guard.oldRun("b")).isEmpty();
    }

    /** The texts of Redis 6.2, of 7.0, and of Redis from 7.2 on and Valkey; that of a server without the command. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "ERR The user executing the script can't run this command or subcommand",
                "ERR The user executing the script can't run this command or subcommand script: 4a, on @user_script:1.",
                "ERR ACL failure in script: User default has no permissions to run the 'info' command script: 4a, on"
                        + " @user_script:1.",
                "ERR Unknown Redis command called from script script: 4a, on @user_script:1."
            })
    void explainsARefusedInfo(String refusal) {
        CompletableFuture<?> answer = CompletableFuture.failedFuture(new StoreException(refusal, null));
        assertThatThrownBy(() -> RestartGuard.explain(answer).join())
                .hasRootCauseMessage(refusal)
                .cause()
                .hasMessageContaining("ACL +info");
    }

    @Test
    void leavesOtherFailuresAlone() {
        StoreException failure = new StoreException("no answer", null);
        assertThatThrownBy(() -> RestartGuard.explain(CompletableFuture.failedFuture(failure))
                        .join())
                .cause()
                .isSameAs(failure);
    }
}
