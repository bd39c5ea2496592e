/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.test;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.test.FaultyLockStore.Failing;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes things go wrong with the locks of one {@link LockTemplate}, in the way in which they do in production: through
 * the store. In a Spring Boot test with {@code lock-spring-boot-test} on the class path it is a bean; elsewhere {@link
 * LockFaultsExtension#inMemory()} has one.
 *
 * <p>Safe for use by any number of threads. {@link #clear()} ends everything that was begun;
 * {@link LockFaultsExtension} calls it after each test.
 */
public final class LockFaults {

    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final FaultyLockStore store;
    private final HeldHere heldHere = new HeldHere();
    private final String stranger = ClientIds.next();
    private final AtomicLong attempts = new AtomicLong();
    private final Map<Outage, Thread> outages = new ConcurrentHashMap<>();
    private int tests;

    /** Creates faults for one template, which is to be built with {@link #watch} and {@link #listener}. */
    public LockFaults() {
        this(() -> {});
    }

    LockFaults(Runnable makeStore) {
        this.store = new FaultyLockStore(makeStore);
    }

    /**
     * Returns a store that does what another one does, unless it is told otherwise here.
     *
     * @param real the store to use; to be given to one template
     * @throws IllegalStateException if a store is watched already
     */
    public LockStore watch(LockStore real) {
        return store.over(real);
    }

    /** Returns what must hear the events of the template. */
    public LockListener listener() {
        return heldHere;
    }

    /**
     * Takes a lock away from its holders, now, and returns when all holders of this application know that it is lost:
     * {@code isHeld()} is false, and {@code onLost} callbacks have been handed to their threads. Who gets the lock
     * while this runs, because it is passed on just then, may lose it, too, and know that a moment later.
     *
     * @param name the lock's name
     * @throws IllegalStateException if it is free, or if the holders have not heard of it within 5 s
     */
    public void lose(String name) {
        List<Long> holders = heldHere.holdersOf(name);
        if (!answer(store.real().revoke(name))) {
            throw new IllegalStateException("Lock '" + name + "' is free, so it cannot be lost");
        }
        heldHere.awaitEnd(name, holders, PATIENCE);
    }

    /**
     * Holds a lock as another instance would, until the result is closed, for at most 10 minutes; on a quorum, for the
     * lease time of the template. It is an instance of which nothing is known but that it holds the lock.
     *
     * @param name the lock's name
     * @return releases the lock
     * @throws IllegalArgumentException if the name is blank or longer than 512 bytes in UTF-8
     * @throws IllegalStateException if it is held
     */
    public Outage hold(String name) {
        String attempt = stranger + String.format(Locale.ROOT, "%08d", attempts.incrementAndGet());
        List<String> names = LockRequest.of(name).names();
        LockStore real = store.real();
        long millis = store.longestHold().toMillis();
        AcquireReply reply =
                answer(real.acquire(new AcquireCommand(names, attempt, ClaimMode.EXCLUSIVE, millis, false, 1)));
        if (!(reply instanceof AcquireReply.Acquired)) {
            throw new IllegalStateException("Lock '" + name + "' is held already, so another instance cannot hold it");
        }
        // The store may have given a shorter hold than it was asked for.
        real.renew(List.of(new RenewCommand(name, attempt, millis, false, 0))).forEach(LockFaults::answer);
        return begun(() -> answer(real.release(new ReleaseCommand(names, attempt, 0, 0))));
    }

    /**
     * Lets every command to the store fail at once, until the result is closed: no lock can be acquired or renewed, and
     * what is held is lost when its lease has ended.
     */
    public Outage storeDown() {
        return begun(store.fail(Failing.EVERYTHING));
    }

    /**
     * Lets no command reach the store, and none be answered before the command timeout, until the result is closed: as
     * when the network swallows packets.
     */
    public Outage storeSilent() {
        return begun(store.fail(Failing.EVERYTHING_IN_SILENCE));
    }

    /** Lets renewals fail, and nothing else, until the result is closed. */
    public Outage renewalsFail() {
        return begun(store.fail(Failing.RENEWALS));
    }

    /**
     * Lets no acquisition wait, until the result is closed: a caller who does not get the lock at once is refused at
     * once, whatever its wait time and its retries say. Callers who wait already go on.
     */
    public Outage withoutWaiting() {
        return begun(store.fail(Failing.WAITS));
    }

    /** Ends everything that was begun here. */
    public void clear() {
        close(outages.keySet());
    }

    /** A test begins on this thread. */
    synchronized void testBegins() {
        tests++;
    }

    /** Ends what the test of this thread has begun; what other threads have begun too, unless other tests run. */
    synchronized void testEnds() {
        tests--;
        close(outages.entrySet().stream()
                .filter(begun -> tests <= 0 || begun.getValue() == Thread.currentThread())
                .map(Map.Entry::getKey)
                .toList());
    }

    /** Ends all of them: one that cannot be ended, as where the store is gone, leaves no other for the next test. */
    private static void close(Collection<Outage> ended) {
        RuntimeException first = null;
        for (Outage outage : ended) {
            try {
                outage.close();
            } catch (RuntimeException failure) {
                if (first == null) {
                    first = failure;
                } else {
                    first.addSuppressed(failure);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private Outage begun(Outage end) {
        Outage outage = new Outage() {
            @Override
            public void close() {
                if (outages.remove(this) != null) {
                    end.close();
                }
            }
        };
        outages.put(outage, Thread.currentThread());
        return outage;
    }

    private static <T> T answer(CompletableFuture<T> command) {
        try {
            return command.join();
        } catch (CompletionException failure) {
            throw new IllegalStateException(
                    "The store of the application under test cannot be asked: " + failure.getCause(),
                    failure.getCause());
        }
    }
}
