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
 * @param application the name of the instance; may be empty
 * @param host the host's name; empty where unknown
 * @param pid the process id
 * @param since when the client was opened
 * @param service the name that all instances of its application have; may be empty
 */
public record StoredInstance(
        String clientId, String application, String host, long pid, Instant since, String service) {

    /** Describes a client of this process that is opened now; the names may be empty. */
    public static StoredInstance ofThisProcess(String clientId, String application, String service) {
        return new StoredInstance(
                clientId,
                application,
                hostName(),
                ProcessHandle.current().pid(),
                Instant.now().truncatedTo(ChronoUnit.MILLIS),
                service);
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
