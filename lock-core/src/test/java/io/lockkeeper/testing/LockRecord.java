/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.testing;

import org.jspecify.annotations.Nullable;

/**
 * What a server has in the record of a lock, part by part: see {@code record.lua}.
 *
 * @param lock its field {@code lock}
 * @param hold its field {@code hold}
 */
public record LockRecord(String lock, String hold) {

    private static final String NONE = "-".repeat(20);

    /** Returns the record of a key; null where there is none. */
    public static @Nullable LockRecord of(RedisServer server, String key) {
        String lock = server.field(key, "lock");
        String hold = server.field(key, "hold");
        return lock == null || hold == null ? null : new LockRecord(lock, hold);
    }

    /** Returns the record of a key as one whose last fencing token is another one. */
    public static void setToken(RedisServer server, String key, long token) {
        LockRecord record = of(server, key);
        if (record == null) {
            throw new IllegalStateException(key + " has no record");
        }
        String lock = record.lock;
        server.command("HSET", key, "lock", lock.substring(0, 19) + String.format("%016d", token) + lock.substring(35));
    }

    /** The owner; empty where there is none. */
    public String owner() {
        String owner = hold.substring(2, 22);
        return owner.equals(NONE) ? "" : owner;
    }

    /** How the owner holds the lock: H held, G granted and not confirmed, K kept after its release, - not at all. */
    public char state() {
        return hold.charAt(1);
    }

    /** The attempt that released the lock last; empty where there is none. */
    public String previous() {
        String previous = lock.substring(44, 64);
        return previous.equals(NONE) ? "" : previous;
    }

    /** The first fencing token of the owner; without an owner the last that was used. */
    public long first() {
        return Long.parseLong(lock.substring(19, 35));
    }

    /** The highest fencing token given out or reserved. */
    public long token() {
        return owner().isEmpty() ? first() : first() + Long.parseLong(lock.substring(35, 44)) - 1;
    }

    /** When the owner's hold ends, ms. */
    public long until() {
        return Long.parseLong(hold.substring(37, 50)) + Long.parseLong(hold.substring(23, 36));
    }

    /** How many wait. */
    public int waiting() {
        return lock.length() == 64 ? 0 : Integer.parseInt(lock.substring(65).split(" ", -1)[2]);
    }
}
