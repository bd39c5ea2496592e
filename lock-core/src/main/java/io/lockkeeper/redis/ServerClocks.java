/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The clocks of the servers: each master of a cluster has its own. */
final class ServerClocks {

    private final Map<String, ServerClock> clocks = new ConcurrentHashMap<>();
    private final ServerClock first = new ServerClock(System::nanoTime);

    /** Returns whether any server has told its time. */
    boolean isKnown() {
        return first.isKnown();
    }

    /** Takes in the time of a server whose name does not matter: it stands for those that have said nothing yet. */
    void told(long serverMicros) {
        first.told(serverMicros);
    }

    /** Takes in the time that a server told. */
    void told(String server, long serverMicros) {
        clock(server).told(serverMicros);
    }

    /** Returns the earliest time that a server's clock can show now, in us; that of another one while it is unknown. */
    long micros(String server) {
        ServerClock own = clock(server);
        return own.isKnown() ? own.micros() : first.micros();
    }

    private ServerClock clock(String server) {
        return clocks.computeIfAbsent(server, name -> new ServerClock(System::nanoTime));
    }
}
