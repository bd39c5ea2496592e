/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports of the loopback for servers that run in processes of their own, which may take seconds to listen. Until then a
 * port that was merely free may go to another server, and both tests would use the one that is first. Hence these ports
 * are not among those that the system gives to whoever wants any port, and all tests of this machine share them out by
 * a UDP socket of the same number, which is open as long as the port is reserved.
 */
final class ReservedPorts {

    /**
     * Below the ports that Linux (32768), macOS and others (49152) give away, as are those of cluster buses, 10,000
     * higher.
     */
    private static final int FIRST = 10_000;

    private static final int COUNT = 10_000;
    private static final int ATTEMPTS = 1_000;
    private static final Map<Integer, DatagramSocket> RESERVED = new ConcurrentHashMap<>();

    private ReservedPorts() {}

    /** Reserves a port on which nobody listens, until it is released or this JVM ends. */
    static int reserve() {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            int port = FIRST + ThreadLocalRandom.current().nextInt(COUNT);
            if (reserve(port)) {
                return port;
            }
        }
        throw new IllegalStateException("No free port found from " + FIRST + " on");
    }

    private static boolean reserve(int port) {
        try {
            DatagramSocket reservation =
                    new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            if (isFree(port)) {
                RESERVED.put(port, reservation);
                return true;
            }
            reservation.close();
            return false;
        } catch (SocketException reserved) {
            return false;
        }
    }

    /** Returns whether nobody listens on a port of the loopback. */
    static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }

    /** Lets others have a port. */
    static void release(int port) {
        DatagramSocket reservation = RESERVED.remove(port);
        if (reservation != null) {
            reservation.close();
        }
    }
}
