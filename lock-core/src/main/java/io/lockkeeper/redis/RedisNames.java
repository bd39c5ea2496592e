/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * The names that the store uses in Redis.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 */
public record RedisNames(String prefix) {

    private static final Pattern GLOB = Pattern.compile("[*?\\[\\]\\\\]");
    private static final String LOCK = ":lock:";
    private static final String CHANNEL = ":grants:";

    /** Returns the right to all keys, as ACL names it. */
    String keys() {
        return "~" + escaped(prefix) + ":*";
    }

    /**
     * Returns the command that gives a user all rights that are needed, and no more than a client needs to connect.
     * Redis adds no pattern to the rights of a user who has all keys or channels.
     */
    String rights() {
        return "ACL SETUSER <user> resetkeys " + keys() + " resetchannels &" + escaped(prefix + CHANNEL)
                + "* +eval +evalsha +script|load +time +exists +hget +hmget +hkeys"
                + " +hset +hdel +unlink +pexpire +pttl +scan +publish +subscribe +unsubscribe +setex +mget +del +info +hello +client"
                + " (without the two resets the user keeps other keys and channels)";
    }

    /** Returns a text as a part of a pattern, in which it stands for itself. */
    private static String escaped(String text) {
        return GLOB.matcher(text).replaceAll("\\\\$0");
    }

    byte[] lock(String name) {
        return bytes(prefix + LOCK + name);
    }

    /** Returns the name of the lock that a key belongs to. */
    String lockName(String key) {
        return key.substring(prefix.length() + LOCK.length());
    }

    /** Returns the pattern of keys for one of names; the prefix itself is no pattern. */
    byte[] lockPattern(String namePattern) {
        return bytes(escaped(prefix + LOCK) + namePattern);
    }

    byte[] channelPrefix() {
        return bytes(prefix + CHANNEL);
    }

    byte[] channel(String clientId) {
        return bytes(prefix + CHANNEL + clientId);
    }

    byte[] instance(String clientId) {
        return bytes(prefix + ":instance:" + clientId);
    }

    /** Returns a text as Redis keeps it. */
    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
