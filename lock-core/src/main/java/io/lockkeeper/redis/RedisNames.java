/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * The names that the store uses in Redis.
 *
 * <p>Internal: public for the packages of the drivers alone, and may change in any release.
 */
public final class RedisNames {

    private static final Pattern GLOB = Pattern.compile("[*?\\[\\]\\\\]");

    private final String prefix;
    private final String locks;
    private final String channels;
    private final String instances;

    RedisNames(String prefix) {
        this.prefix = prefix;
        locks = prefix + ":lock:";
        channels = prefix + ":grants:";
        instances = prefix + ":instance:";
    }

    /** Returns the pattern of all keys, for people. */
    String keys() {
        return prefix + ":*";
    }

    /** Returns the command that gives a user all rights that are needed, and no more than a client needs to connect. */
    String rights() {
        return "ACL SETUSER <user> ~" + keys() + " &" + channels
                + "* +eval +evalsha +script|load +time +exists +hget +hmget"
                + " +hset +hdel +unlink +pexpire +pttl +scan +publish +subscribe +unsubscribe +setex +mget +del +info +hello +client";
    }

    byte[] lock(String name) {
        return bytes(locks + name);
    }

    /** Returns the name of the lock that a key belongs to. */
    String lockName(String key) {
        return key.substring(locks.length());
    }

    /** Returns the pattern of keys for one of names; the prefix itself is no pattern. */
    byte[] lockPattern(String namePattern) {
        return bytes(GLOB.matcher(locks).replaceAll("\\\\$0") + namePattern);
    }

    byte[] channelPrefix() {
        return bytes(channels);
    }

    byte[] channel(String clientId) {
        return bytes(channels + clientId);
    }

    byte[] instance(String clientId) {
        return bytes(instances + clientId);
    }

    /** Returns a text as Redis keeps it. */
    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
