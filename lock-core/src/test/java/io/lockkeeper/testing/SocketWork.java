/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.IOException;

/** What a thread does with a socket; that the socket fails is an ordinary end of it. */
interface SocketWork {

    void run() throws IOException, InterruptedException;

    /** Runs the work on a daemon thread. */
    static void fork(String name, SocketWork work) {
        Thread thread = new Thread(() -> runQuietly(work), name);
        thread.setDaemon(true);
        thread.start();
    }

    static void closeQuietly(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            // There is nothing left to do with it
        }
    }

    private static void runQuietly(SocketWork work) {
        try {
            work.run();
        } catch (IOException e) {
            // The other side is gone, or somebody has closed the socket
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
