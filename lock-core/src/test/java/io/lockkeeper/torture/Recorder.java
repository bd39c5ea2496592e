/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockMode;
import io.lockkeeper.torture.Event.Kind;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/**
 * Writes what one worker sees, line by line, into a file that a kill does not harm: before a lease is used, and after
 * it was used last. Each look at a lease is timed before the look, so that belief is never recorded longer than it was.
 */
final class Recorder implements LockListener, AutoCloseable {

    private static final long FOR_EVER = Duration.ofHours(10).toNanos();

    private final String worker;
    /** Without a buffer, and not a channel: an interrupt would close that. */
    private final FileOutputStream file;

    private final boolean endless;
    private final UnconfirmedGrants grants;
    private final AtomicLong numbers = new AtomicLong();
    private final ThreadLocal<String> way = ThreadLocal.withInitial(() -> "");
    private final ThreadLocal<String> releasing = ThreadLocal.withInitial(() -> "");

    /**
     * Begins a history.
     *
     * @param worker the name and the generation
     * @param path the file
     * @param endless whether a lease is taken for one that never ends
     * @param grants what the worker's store has granted
     */
    Recorder(String worker, Path path, boolean endless, UnconfirmedGrants grants) {
        this.worker = worker;
        this.endless = endless;
        this.grants = grants;
        try {
            file = new FileOutputStream(path.toFile(), true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A request begins that must be answered within a bound, as long as nothing is wrong. Returns its id. */
    String asked(String form, Duration bound) {
        String id = worker + "/" + numbers.incrementAndGet();
        way.remove();
        write(Event.of(Kind.ASKED, id, "form", form, "bound", "" + bound.toMillis()));
        return id;
    }

    /** The caller has its lease, which is renewed, or lasts for a fixed time at the longest; zero: it is renewed. */
    void held(String id, LockLease lease, Duration fixed) {
        long now = System.nanoTime();
        String locks = lease.names().stream()
                .map(name -> name + ":" + lease.fencingToken(name))
                .collect(Collectors.joining(","));
        String mode = lease.mode() == LockMode.READ ? "READ" : "EXCLUSIVE";
        String until = until(now, lease);
        write(Event.at(
                now,
                Kind.HELD,
                id,
                "mode",
                mode,
                "locks",
                locks,
                "until",
                until,
                "granted",
                granted(lease),
                "fixed",
                "" + fixed.toMillis(),
                "way",
                way.get()));
        lease.onLost(lost -> {
            if (!endless) {
                write(Event.of(Kind.LOST, id, "reason", String.valueOf(lost.getMessage())));
            }
        });
    }

    /** The caller goes on with its lease. */
    void still(String id, LockLease lease) {
        long now = System.nanoTime();
        write(Event.at(now, Kind.STILL, id, "until", until(now, lease), "granted", granted(lease)));
    }

    /** The caller is about to release its lease. */
    void ending(String id, LockLease lease) {
        long now = System.nanoTime();
        releasing.set(id);
        write(Event.at(now, Kind.ENDING, id, "until", until(now, lease), "granted", granted(lease)));
    }

    void over(String id, String result) {
        write(Event.of(Kind.OVER, id, "result", result));
    }

    /** The worker did not run. */
    void stalled(long since) {
        write(Event.of(Kind.STALLED, worker, "since", "" + since));
    }

    @Override
    public void onAcquired(Acquired event) {
        way.set(event.way().name());
    }

    /** Runs on the thread that releases, also where the form of the release hides the result. */
    @Override
    public void onReleased(Released event) {
        if (!releasing.get().isEmpty() && !endless) {
            over(releasing.get(), event.result().name());
            releasing.remove();
        }
    }

    private String until(long now, LockLease lease) {
        return Long.toString(now + (endless ? FOR_EVER : lease.remaining().toNanos()));
    }

    /** Told after its end: a renewal in between makes it a longer time. Of several locks each has been confirmed. */
    private String granted(LockLease lease) {
        String name = lease.names().iterator().next();
        return Long.toString(grants.millis(name, lease.fencingToken(name)));
    }

    private synchronized void write(Event event) {
        try {
            file.write((event.line() + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
