/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisServer;
import java.io.UncheckedIOException;
import java.util.List;

/** Notices when servers took the place of others last: what was written to those may be lost until then. */
final class MasterWatch {

    private List<RedisServer> masters = List.of();
    private long since;

    /** Looks which of the servers take writes; returns them. */
    List<RedisServer> look(List<RedisServer> servers) {
        List<RedisServer> now = servers.stream().filter(MasterWatch::isMaster).toList();
        if (!now.equals(masters)) {
            masters = now;
            since = System.nanoTime();
        }
        return now;
    }

    /** When the masters of the last look were seen first. */
    long since() {
        return since;
    }

    static boolean isMaster(RedisServer server) {
        try {
            return server.isRunning()
                    && String.valueOf(server.command("INFO", "replication")).contains("role:master");
        } catch (UncheckedIOException gone) {
            return false;
        }
    }
}
