/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.store;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * How a client of the store described itself.
 *
 * @param clientId its id, with which the ids of its attempts begin
 * @param application the application's name; may be empty
 * @param host the host's name; empty where unknown
 * @param pid the process id
 * @param since when the client was opened
 */
public record StoredInstance(String clientId, String application, String host, long pid, Instant since) {

    /**
     * Describes a client of this process that is opened now.
     *
     * @param clientId its id
     * @param application the application's name; may be empty
     * @return the description
     */
    public static StoredInstance ofThisProcess(String clientId, String application) {
        return new StoredInstance(
                clientId,
                application,
                hostName(),
                ProcessHandle.current().pid(),
                Instant.now().truncatedTo(ChronoUnit.MILLIS));
    }

    private static String hostName() {
        String name = System.getenv("HOSTNAME");
        if (name != null && !name.isBlank()) {
            return name;
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unresolved) {
            return "";
        }
    }
}
