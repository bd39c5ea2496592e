/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.torture.TortureSettings.Promise;
import io.lockkeeper.torture.TortureSettings.Sabotage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A run that saw nothing is no run without violations. */
class TopologyTortureSightTest {

    private static final TortureSettings SHORT = new TortureSettings(
            1, Duration.ZERO, 1, 1, 1, Duration.ofMillis(200), List.of(), Sabotage.NONE, Promise.NONE);

    /** A worker that takes no lock. Its address says how it behaves. */
    static final class IdleWorker {

        public static void main(String[] arguments) throws Exception {
            String address = arguments[3];
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            System.out.println("ready");
            for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
                if (line.equals("clock")) {
                    System.out.println("clock " + System.nanoTime());
                } else if (address.equals("dies")) {
                    Runtime.getRuntime().halt(1);
                } else if (address.equals("fails")) {
                    System.out.println(TortureWorker.FAILED + "for a test");
                    System.out.println("failed");
                }
            }
            System.out.println("closed");
            System.out.println("left []");
        }
    }

    /** One server, which nothing befalls. */
    private record Calm(String address, RedisServer server) implements Topology {

        @Override
        public Class<?> worker() {
            return IdleWorker.class;
        }

        @Override
        public List<Disaster> disasters() {
            return List.of(Disaster.REPLICAS_ARE_CUT_OFF);
        }

        @Override
        public long suffer(Disaster disaster, Duration lasts, Random random) {
            Waiting.forSo(SHORT.lease().multipliedBy(3));
            return System.nanoTime();
        }

        @Override
        public List<RedisServer> masters() {
            return List.of(server);
        }

        @Override
        public void close() {
            server.close();
        }
    }

    private static List<String> violations(String address) throws Exception {
        try (TopologyTorture torture = new TopologyTorture(new Calm(address, RedisServer.start()), SHORT)) {
            return torture.run().violations();
        }
    }

    @Test
    void workersThatTakeNoLockAreAViolation() throws Exception {
        assertThat(violations("idles"))
                .contains(
                        "There was no lease of the form EXCLUSIVE",
                        "There was no lease of w0 after all troubles, but {}",
                        "There was no write");
    }

    @Test
    void workersThatDieAreAViolationAlsoForTheThreadThatTroublesThem() throws Exception {
        assertThat(violations("dies"))
                .anyMatch(violation -> violation.startsWith("A worker cannot be troubled"))
                .anyMatch(violation -> violation.startsWith("A worker does not end"));
    }

    @Test
    void aWorkerThatHadFailedIsNotReplacedInSilence(@TempDir Path histories) {
        try (WorkerProcess worker = new WorkerProcess(0, IdleWorker.class, "fails", 1, histories, SHORT)) {
            worker.awaitReady();
            worker.await("failed");
            assertThatThrownBy(worker::replace).hasMessageContaining(TortureWorker.FAILED + "for a test");
        }
    }
}
