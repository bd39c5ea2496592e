/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.awaitility.Awaitility;

/** What replicas have of their master. */
public final class Replication {

    private static final Duration LONGEST = Duration.ofSeconds(30);
    private static final Pattern OFFSET = Pattern.compile("^master_repl_offset:(\\d+)", Pattern.MULTILINE);
    private static final Pattern ACKNOWLEDGED =
            Pattern.compile("^slave\\d+:.*state=online,offset=(\\d+)", Pattern.MULTILINE);

    private Replication() {}

    /**
     * Waits until replicas have acknowledged everything that a server has written until now. The command WAIT does not
     * say that: it knows the writes of its own connection and no others.
     *
     * @param master the server
     * @param replicas how many of them
     */
    public static void await(RedisServer master, int replicas) {
        long written = offsets(master, OFFSET).findFirst().orElseThrow();
        Awaitility.await()
                .atMost(LONGEST)
                .until(() -> offsets(master, ACKNOWLEDGED)
                                .filter(acknowledged -> acknowledged >= written)
                                .count()
                        >= replicas);
    }

    private static LongStream offsets(RedisServer master, Pattern pattern) {
        Matcher lines = pattern.matcher(String.valueOf(master.command("INFO", "replication")));
        return lines.results().mapToLong(line -> Long.parseLong(line.group(1)));
    }
}
