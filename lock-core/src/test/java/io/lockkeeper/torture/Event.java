/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One thing that a worker saw: one line of its history.
 *
 * @param nanos when, on the monotonic clock that all processes of this machine share
 * @param kind what
 * @param id the request that it is about, unique in the run; or the worker
 * @param details names and values, without spaces
 */
record Event(long nanos, Kind kind, String id, Map<String, String> details) {

    enum Kind {
        /** A request begins: form, bound (ms). */
        ASKED,
        /**
         * Its caller has seen the lease: mode, locks (name:token,...), until, granted (for how long, ms; 0: its whole
         * time), fixed (ms; 0: renewed), way.
         */
        HELD,
        /** The lease was asked: until, granted; until is not later than the event where it does not hold any more. */
        STILL,
        /** The release is about to be called: until, granted. */
        ENDING,
        /** The lease said that it was lost: reason. */
        LOST,
        /** The request is over: result. */
        OVER,
        /** The worker did not run: since. */
        STALLED
    }

    static Event of(Kind kind, String id, String... namesAndValues) {
        return at(System.nanoTime(), kind, id, namesAndValues);
    }

    static Event at(long nanos, Kind kind, String id, String... namesAndValues) {
        Map<String, String> details = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            details.put(namesAndValues[i], namesAndValues[i + 1].replaceAll("\\s+", "_"));
        }
        return new Event(nanos, kind, id, details);
    }

    static Event parse(String line) {
        String[] words = line.split(" ", -1);
        Map<String, String> details = new LinkedHashMap<>();
        for (int i = 3; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            details.put(words[i].substring(0, equals), words[i].substring(equals + 1));
        }
        return new Event(Long.parseLong(words[0]), Kind.valueOf(words[1]), words[2], details);
    }

    String line() {
        StringBuilder line = new StringBuilder();
        line.append(nanos).append(' ').append(kind).append(' ').append(id);
        details.forEach(
                (name, value) -> line.append(' ').append(name).append('=').append(value));
        return line.toString();
    }

    /** The worker that saw it: what is before the first slash of the id. */
    String worker() {
        int slash = id.indexOf('/');
        return slash < 0 ? id : id.substring(0, slash);
    }

    String text(String name) {
        return details.getOrDefault(name, "");
    }

    long number(String name) {
        String value = text(name);
        return value.isEmpty() ? 0 : Long.parseLong(value);
    }
}
