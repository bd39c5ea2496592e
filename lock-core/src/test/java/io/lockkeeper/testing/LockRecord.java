/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a server has in the record of a lock, part by part: see {@code record.lua}.
 *
 * @param text its field {@code lock}
 */
public record LockRecord(String text) {

    private static final String NONE = "-".repeat(20);

    /** Returns the record of a key; null where there is none. */
    public static @Nullable LockRecord of(RedisServer server, String key) {
        String text = server.field(key, "lock");
        return text == null ? null : new LockRecord(text);
    }

    /** Returns the record of a key as one whose last fencing token is another one. */
    public static void setToken(RedisServer server, String key, long token) {
        String text = server.field(key, "lock");
        if (text == null) {
            throw new IllegalStateException(key + " has no record");
        }
        server.command("HSET", key, "lock", text.substring(0, 47) + String.format("%016d", token) + text.substring(63));
    }

    /** The owner; empty where there is none. */
    public String owner() {
        return state() == '-' ? "" : text.substring(85, 105);
    }

    /** How the owner holds the lock: H held, G granted and not confirmed, K kept after its release, - not at all. */
    public char state() {
        return text.charAt(1);
    }

    /** The attempt that released the lock last; empty where there is none. */
    public String previous() {
        String previous = text.substring(64, 84);
        return previous.equals(NONE) ? "" : previous;
    }

    /** The first fencing token of the owner; without an owner the last that was used. */
    public long first() {
        return Long.parseLong(text.substring(47, 63));
    }

    /** The highest fencing token given out or reserved. */
    public long token() {
        return state() == '-' ? first() : first() + Long.parseLong(text.substring(106, 111)) - 1;
    }

    /** When the owner's hold ends, ms. */
    public long until() {
        return Long.parseLong(text.substring(126, 139)) + Long.parseLong(text.substring(112, 125));
    }

    /** How many wait. */
    public int waiting() {
        List<String> queue =
                List.of(text.substring(state() == '-' ? 84 : 142).strip().split(" ", -1));
        return queue.size() < 5 ? 0 : Integer.parseInt(queue.get(2));
    }
}
