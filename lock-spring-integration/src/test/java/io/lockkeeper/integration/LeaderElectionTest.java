/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.testing.JavaProcess;
import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

/** Of several instances one leads: leader election of Spring Integration over the registry. */
class LeaderElectionTest {

    private static final long LONG = 60;
    private static final Duration SLACK = Duration.ofSeconds(2);

    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    @Test
    void anotherInstanceLeadsWhenTheProcessOfTheLeaderIsKilled() throws Exception {
        try (RedisServer server = RedisServer.start();
                JavaProcess leader = JavaProcess.start(LeaderProcess.class, Integer.toString(server.port()));
                LockTemplate template = LeaderProcess.template(server.port())) {
            leader.expect("leads", Duration.ofSeconds(LONG));
            LockRegistryLeaderInitiator successor =
                    LeaderProcess.initiator(template, LeaderProcess.recording("successor", events));
            successor.start();
            Awaitility.await().until(() -> template.inspector()
                    .status("cleaner")
                    .filter(status -> !status.waiters().isEmpty())
                    .isPresent());
            assertThat(successor.getContext().isLeader()).isFalse();

            long killed = System.nanoTime();
            leader.kill();

            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isEqualTo("successor leads");
            assertThat(Duration.ofNanos(System.nanoTime() - killed))
                    .as("a lease and one wait after the death, and what a busy machine needs")
                    .isLessThan(LeaderProcess.LEASE.plus(LeaderProcess.WAIT).plus(SLACK));
            assertThat(successor.getContext().isLeader()).isTrue();
            successor.stop();
            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isEqualTo("successor stops");
        }
    }

    @Test
    void aLeaderThatLosesItsLockOrYieldsStops() throws Exception {
        try (RedisServer server = RedisServer.start();
                LockTemplate one = LeaderProcess.template(server.port());
                LockTemplate two = LeaderProcess.template(server.port())) {
            LockRegistryLeaderInitiator first = LeaderProcess.initiator(one, LeaderProcess.recording("first", events));
            first.start();
            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isEqualTo("first leads");
            // The first that waits in the queue is the next.
            first.setBusyWaitMillis(1_000);
            LockRegistryLeaderInitiator second =
                    LeaderProcess.initiator(two, LeaderProcess.recording("second", events));
            second.start();
            Awaitility.await().until(() -> one.inspector()
                    .status("cleaner")
                    .filter(status -> !status.waiters().isEmpty())
                    .isPresent());

            assertThat(two.inspector().forceRelease("cleaner")).isTrue();

            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isIn("first stops", "second leads");
            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isIn("first stops", "second leads");
            assertThat(first.getContext().isLeader()).isFalse();
            assertThat(second.getContext().isLeader()).isTrue();

            second.setBusyWaitMillis(1_000);
            second.getContext().yield();

            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isEqualTo("second stops");
            assertThat(events.poll(LONG, TimeUnit.SECONDS)).isEqualTo("first leads");
            first.stop();
            second.stop();
        }
    }
}
