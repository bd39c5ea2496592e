/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What to lock and how. Immutable: made with {@link #of} and changed with the {@code with} methods, each of which
 * returns a new request with another value as described here. What is not set (null) takes the default of the
 * {@link LockTemplate}. A value out of range is refused at once, with an {@link IllegalArgumentException}.
 *
 * @param names the locks to hold together: at least one, without duplicates, each not blank and at most 512 bytes in
 *     UTF-8
 * @param mode how the locks are shared; {@link LockMode#EXCLUSIVE} unless set
 * @param waitTime how long to wait for the lock; zero: try once; longer than can be measured: without limit; null: the
 *     template's default
 * @param leaseTime the fixed end of the hold, at least 100 ms after the grant: it is not renewed, and ends by itself;
 *     longer than 100 years: 100 years; null: renewed until it is released (there is no -1 for that)
 * @param retryCount the number of further attempts after the first, which never queue: the wait time is then ignored;
 *     0: wait instead
 * @param retryDelay the time between two attempts, at least 1 ms, varied at random by up to a half of it in both
 *     directions; null: the template's default
 * @param minHoldTime how long the lock stays taken from the grant on at least, even when it is released before: for
 *     work that machines with different clocks start at the same moment and only one must do; zero: not at all
 * @param label a name under which metrics count the request: one of a few values, such as a class and a method; null:
 *     none
 */
public record LockRequest(
        List<String> names,
        LockMode mode,
        @Nullable Duration waitTime,
        @Nullable Duration leaseTime,
        int retryCount,
        @Nullable Duration retryDelay,
        Duration minHoldTime,
        @Nullable String label) {

    /** The shortest fixed lease. */
    public static final Duration MIN_LEASE_TIME = Duration.ofMillis(100);

    /** The shortest delay between attempts. */
    public static final Duration MIN_RETRY_DELAY = Duration.ofMillis(1);

    private static final int MAX_NAME_BYTES = 512;

    /** Checks every value. Not part of the API: use {@link #of} and the {@code with} methods. */
    public LockRequest {
        names = distinct(Objects.requireNonNull(names, "names must not be null"));
        if (names.isEmpty()) {
            throw new IllegalArgumentException("A lock request needs at least one name");
        }
        names.forEach(LockRequest::checkName);
        Objects.requireNonNull(mode, "mode must not be null");
        Objects.requireNonNull(minHoldTime, "minHoldTime must not be null; use Duration.ZERO for none");
        if (waitTime != null && waitTime.isNegative()) {
            throw new IllegalArgumentException(
                    "The wait time must not be negative, but is " + waitTime + "; zero means: try once");
        }
        if (leaseTime != null && leaseTime.compareTo(MIN_LEASE_TIME) < 0) {
            throw new IllegalArgumentException("The lease time must be 100 ms or more, but is " + leaseTime
                    + "; for a lease that is renewed until it is released, leave it out: lock(), tryLock(waitTime), or a"
                    + " LockRequest without withLeaseTime");
        }
        if (retryCount < 0) {
            throw new IllegalArgumentException("The retry count must not be negative, but is " + retryCount
                    + "; it is the number of further attempts after the first");
        }
        if (retryDelay != null && retryDelay.compareTo(MIN_RETRY_DELAY) < 0) {
            throw new IllegalArgumentException("The retry delay must be 1 ms or more, but is " + retryDelay);
        }
        if (minHoldTime.isNegative()) {
            throw new IllegalArgumentException("The minimum hold time must not be negative, but is " + minHoldTime);
        }
    }

    /** Asks for one lock, or for several that are held together; duplicates collapse. Nothing else is set. */
    public static LockRequest of(String... names) {
        return of(Arrays.asList(names));
    }

    /** As {@link #of(String...)}. */
    public static LockRequest of(Collection<String> names) {
        List<String> list = names instanceof List<String> known ? known : new ArrayList<>(names);
        return new LockRequest(list, LockMode.EXCLUSIVE, null, null, 0, null, Duration.ZERO, null);
    }

    /** Sets how the locks are shared. */
    public LockRequest withMode(LockMode mode) {
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    /** Sets how long to wait; not null. */
    public LockRequest withWaitTime(Duration waitTime) {
        Objects.requireNonNull(waitTime, "waitTime must not be null");
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    /** Gives the hold a fixed end; not null: a request that is renewed is one without a lease time. */
    public LockRequest withLeaseTime(Duration leaseTime) {
        Objects.requireNonNull(leaseTime, "leaseTime must not be null");
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    /** Sets how often to try again instead of waiting, and after which time; not null. */
    public LockRequest withRetries(int retryCount, Duration retryDelay) {
        Objects.requireNonNull(retryDelay, "retryDelay must not be null");
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    /** Sets how long the lock stays taken at least; not null. */
    public LockRequest withMinHoldTime(Duration minHoldTime) {
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    /** Sets the name for metrics; not null. */
    public LockRequest withLabel(String label) {
        Objects.requireNonNull(label, "label must not be null");
        return new LockRequest(names, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    /** Returns the same request of a caller who tries once. */
    public LockRequest withoutWaiting() {
        return new LockRequest(names, mode, Duration.ZERO, leaseTime, 0, null, minHoldTime, label);
    }

    /** Returns the same request for some of the names. */
    LockRequest withNames(List<String> some) {
        return some.equals(names)
                ? this
                : new LockRequest(some, mode, waitTime, leaseTime, retryCount, retryDelay, minHoldTime, label);
    }

    private static void checkName(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("A lock name must not be blank");
        }
        if (name.length() > MAX_NAME_BYTES || utf8Length(name) > MAX_NAME_BYTES) {
            throw new IllegalArgumentException(
                    "A lock name must be at most 512 bytes in UTF-8, but this one is longer: '"
                            + name.substring(0, Math.min(name.length(), 40)) + "...'; use a hash of it instead");
        }
    }

    private static List<String> distinct(List<String> names) {
        names.forEach(name -> Objects.requireNonNull(name, "a lock name must not be null"));
        return List.copyOf(names.size() == 1 ? names : new LinkedHashSet<>(names));
    }

    // Counted, not encoded: every acquisition checks its names, and an encoder with its buffer would be most of its
    // garbage.
    private static int utf8Length(String name) {
        int bytes = 0;
        int index = 0;
        while (index < name.length()) {
            int character = name.codePointAt(index);
            if (character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE) {
                throw new IllegalArgumentException("A lock name must be well-formed Unicode, but '" + name
                        + "' contains half of a surrogate pair: two different names could become one in the store");
            }
            bytes += character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x1_0000 ? 3 : 4;
            index += Character.charCount(character);
        }
        return bytes;
    }
}
