/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisServer;
import io.lockkeeper.testing.RespConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/** Notices when the server, or this machine, did not answer for a while, whatever the reason. */
final class Pulse implements AutoCloseable {

    private static final Duration BEAT = Duration.ofMillis(20);
    private static final Duration STALL = Duration.ofMillis(100);

    private final RedisServer server;
    private final List<Window> stalls = new CopyOnWriteArrayList<>();
    private final Thread thread = new Thread(this::watch, "pulse");
    private volatile boolean closed;

    Pulse(RedisServer server) {
        this.server = server;
        thread.setDaemon(true);
        thread.start();
    }

    private void watch() {
        RespConnection connection = server.connect();
        long last = System.nanoTime();
        while (!closed) {
            LockSupport.parkNanos(BEAT.toNanos());
            try {
                connection.command("PING");
            } catch (RuntimeException killed) {
                connection.close();
                connection = server.connect();
            }
            long now = System.nanoTime();
            if (now - last > STALL.toNanos()) {
                stalls.add(new Window(last, now, Window.ALL, "SLOW"));
            }
            last = now;
        }
        connection.close();
    }

    List<Window> stalls() {
        return List.copyOf(stalls);
    }

    @Override
    public void close() {
        closed = true;
        try {
            thread.join(1_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
