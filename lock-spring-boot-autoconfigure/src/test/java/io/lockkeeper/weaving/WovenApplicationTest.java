/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.weaving;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.JavaProcess;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.aspectj.weaver.loadtime.Agent;
import org.junit.jupiter.api.Test;

/** Each test starts a JVM with or without the weaver. */
class WovenApplicationTest {

    private static final Duration TIMEOUT = Duration.ofMinutes(2);

    @Test
    void everyCallOfAWovenMethodIsLockedOnce() throws URISyntaxException {
        try (JavaProcess woven = startWoven("--lockkeeper.mode=aspectj")) {
            woven.expect("done", TIMEOUT);
            assertThat(woven.output().lines())
                    .contains(
                            "proxied false",
                            "public [stock:lamp]",
                            "self-invoked [stock:lamp]",
                            "private [private:lamp]",
                            "final [final:lamp]",
                            "composed [composed:lamp]",
                            "bridge [handled:text]",
                            "final class [sealed]",
                            "not a bean [stock:chair]",
                            "nobody waits: fallback for BUSY",
                            "stage [stage:lamp]",
                            "stage that waits [busy]",
                            "publisher [publisher] [publisher]",
                            "publisher that waits [busy]",
                            "overridden [stock of the outlet, stock of the shop]",
                            "transaction [lock, begin, commit, release]",
                            "acquired 19",
                            "after the end [nothing]")
                    .anyMatch(line -> line.contains("is a suspend function, into which no lock can be woven"));
        }
    }

    @Test
    void aWeaverWithoutTheModeLeavesTheLocksToProxies() throws URISyntaxException {
        try (JavaProcess woven = startWoven("--lockkeeper.mode=proxy")) {
            woven.awaitExit(TIMEOUT);
            assertThat(woven.output())
                    .contains(
                            "APPLICATION FAILED TO START",
                            "privateMethod(String)",
                            "is private, and no proxy can lock it");
        }
    }

    @Test
    void theModeWithoutAWeaverFailsWithWhatToDo() {
        try (JavaProcess plain =
                JavaProcess.start(WovenApplication.class, "--lockkeeper.store=memory", "--lockkeeper.mode=aspectj")) {
            plain.awaitExit(TIMEOUT);
            assertThat(plain.output())
                    .contains(
                            "APPLICATION FAILED TO START",
                            "lockkeeper.mode is aspectj",
                            "-javaagent:aspectjweaver.jar");
        }
    }

    private static JavaProcess startWoven(String mode) throws URISyntaxException {
        Path weaver = Path.of(
                Agent.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        return JavaProcess.start(
                List.of("-javaagent:" + weaver), WovenApplication.class, "--lockkeeper.store=memory", mode);
    }
}
