/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.testing.RedisServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Where the servers of one test listen. */
record Ports(int redis, int database) {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    static Ports free() {
        return new Ports(RedisServer.freePort(), RedisServer.freePort());
    }

    List<String> settings() {
        return List.of("--spring.data.redis.port=" + redis, "--sample.database.port=" + database);
    }

    /** Waits until both servers have ended. */
    void awaitClosed() {
        long start = System.nanoTime();
        while (isOpen(redis) || isOpen(database)) {
            assertThat(System.nanoTime() - start)
                    .as("time until the servers have ended")
                    .isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        }
    }

    private static boolean isOpen(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException refused) {
            return false;
        }
    }
}
