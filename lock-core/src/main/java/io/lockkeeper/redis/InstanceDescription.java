package io.lockkeeper.redis;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * How an instance describes itself to people who ask who holds a lock.
 *
 * @param id the client id
 * @param application the application's name; may be empty
 * @param host the host's name
 * @param pid the process id
 * @param since when the instance started to use locks
 */
record InstanceDescription(String id, String application, String host, long pid, Instant since) {

    static InstanceDescription ofThisProcess(String clientId, String application) {
        return new InstanceDescription(
                clientId,
                application,
                hostName(),
                ProcessHandle.current().pid(),
                Instant.now().truncatedTo(ChronoUnit.MILLIS));
    }

    String toJson() {
        return "{\"id\":" + quoted(id) + ",\"application\":" + quoted(application) + ",\"host\":" + quoted(host)
                + ",\"pid\":" + pid + ",\"since\":" + quoted(since.toString()) + "}";
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

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
