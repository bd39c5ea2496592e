/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.util.LinkedHashMap;
import java.util.Map;

/** One request, and the lease that came of it: from when to when its caller believed that it held the lock. */
final class Hold {

    /**
     * The store did not know of the hold any more when it was released; so it answers to a second copy of a release,
     * too.
     */
    private static final String AT_RELEASE = "seen_at_the_release";

    /** A lease ends on the wall clock, too, which tells whole milliseconds, and is slewed. */
    private static final long WALL_CLOCK_NANOS = 2_000_000;

    final String id;
    final String worker;
    final String form;
    final long asked;
    final long boundNanos;
    private final Map<String, Long> tokens = new LinkedHashMap<>();
    private String mode = "";
    private String way = "";
    private long fixedNanos;
    private boolean held;
    private long start;

    /** Until when the lease promised to be held when its caller had it first. */
    private long firstPromise;

    /** The last moment at which the lease said that it was held. */
    private long seen;

    /** Until when the lease has promised to be held, as long as it is not released. */
    private long promised;

    /** Until when the lease has promised that, since the store gave it for its whole time; 0: it did not. */
    private long promisedInFull;

    /** When the store can have granted the lease for a shorter time, at the earliest; 0: it did not. */
    private long granted;

    private long end;
    private boolean ended;
    private long lostAt;
    private String lossReason = "";
    private long over;
    private String result = "";

    Hold(Event asked) {
        this.id = asked.id();
        this.worker = asked.worker();
        this.form = asked.text("form");
        this.asked = asked.nanos();
        this.boundNanos = asked.number("bound") * 1_000_000;
    }

    void take(Event event) {
        switch (event.kind()) {
            case HELD -> begin(event);
            case STILL -> believe(event);
            case ENDING -> {
                believe(event);
                endAt(event.nanos());
            }
            case LOST -> {
                lostAt = event.nanos();
                lossReason = event.text("reason");
                endAt(event.nanos());
            }
            case OVER -> {
                over = event.nanos();
                result = event.text("result");
                if (result.equals("LOST") && lossReason.isEmpty()) {
                    lostAt = event.nanos();
                    lossReason = AT_RELEASE;
                }
            }
            case ASKED, STALLED -> {
                // Not about a lease
            }
        }
    }

    private void begin(Event event) {
        held = true;
        start = event.nanos();
        seen = start;
        firstPromise = Math.max(start, event.number("until"));
        promised = firstPromise;
        mode = event.text("mode");
        way = event.text("way");
        fixedNanos = event.number("fixed") * 1_000_000;
        promise(firstPromise, event);
        for (String lock : event.text("locks").split(",", -1)) {
            int colon = lock.lastIndexOf(':');
            tokens.put(lock.substring(0, colon), Long.valueOf(lock.substring(colon + 1)));
        }
    }

    private void believe(Event event) {
        if (event.number("until") > event.nanos() && !ended) {
            seen = event.nanos();
            promised = Math.max(promised, event.number("until"));
            promise(event.number("until"), event);
        }
    }

    private void promise(long until, Event event) {
        long grantNanos = event.number("granted") * 1_000_000;
        if (grantNanos == 0) {
            promisedInFull = Math.max(promisedInFull, until);
        } else {
            granted = Math.max(granted, until - (isFixed() ? Math.min(fixedNanos, grantNanos) : grantNanos));
        }
    }

    private void endAt(long nanos) {
        if (ended) {
            return;
        }
        ended = true;
        // What was promised beyond the end holds no more; where the promise was over before, it was the end.
        end = isAfterPromise(nanos) ? Math.min(nanos, promised) : seen;
    }

    boolean isAfterPromise(long nanos) {
        return nanos >= promised - WALL_CLOCK_NANOS;
    }

    boolean isHeld() {
        return held;
    }

    boolean isShared() {
        return mode.equals("READ");
    }

    Map<String, Long> tokens() {
        return tokens;
    }

    long start() {
        return start;
    }

    /** When the caller believed in the lock last: a worker that was killed may have done so until the deadline. */
    long end() {
        return ended ? end : promised;
    }

    long promised() {
        return promised;
    }

    /**
     * When the store can have given the lease, at the earliest: a deadline counts from the sending of a command.
     *
     * @param leaseNanos how long it lasts unless its time is fixed
     */
    long given(long leaseNanos) {
        return firstPromise - (isFixed() ? fixedNanos : leaseNanos);
    }

    /** When the store knew the lease last, at the earliest. */
    long known(long leaseNanos) {
        return Math.max(granted, promisedInFull - (isFixed() ? fixedNanos : leaseNanos));
    }

    String way() {
        return way;
    }

    boolean isFixed() {
        return fixedNanos != 0;
    }

    /** When the worker heard that the lease was lost; 0: it was not. */
    long lostAt() {
        return lostAt;
    }

    String lossReason() {
        return lossReason;
    }

    /** The loss came before the moment up to which the lease had promised to be held, and before its release. */
    boolean lostEarly() {
        return lostAt != 0 && !isAfterPromise(lostAt) && !lossReason.equals(AT_RELEASE);
    }

    long over() {
        return over;
    }

    String result() {
        return result;
    }

    /** When the caller got its answer; 0: never, because its process was killed. */
    long answered() {
        return held ? start : over;
    }

    @Override
    public String toString() {
        return "%s %s %s [%d..%d] of %s".formatted(id, form, tokens, start, end(), worker);
    }
}
