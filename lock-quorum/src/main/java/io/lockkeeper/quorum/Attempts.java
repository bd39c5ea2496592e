/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of which some master may still take a lock, or has yet to be told the end. One that has ended is
 * remembered until every master knows: asked for again meanwhile, it would be given and then taken away.
 */
final class Attempts {

    private final Map<String, Attempt> live = new ConcurrentHashMap<>();

    /** Returns an attempt with one more duty. */
    Attempt begin(String id) {
        return live.compute(id, (key, known) -> {
            Attempt attempt = known == null ? new Attempt(key) : known;
            attempt.duties++;
            return attempt;
        });
    }

    /** Ends a duty, and forgets the attempt with the last one. */
    void done(Attempt attempt) {
        live.computeIfPresent(attempt.id, (key, known) -> --known.duties == 0 ? null : known);
    }

    int size() {
        return live.size();
    }

    /** One attempt. */
    static final class Attempt {

        final String id;

        /** Guarded by the map. */
        private int duties;

        private final AtomicReference<@Nullable Ending> ending = new AtomicReference<>();

        private Attempt(String id) {
            this.id = id;
        }

        /** Ends the attempt for good; false: it had ended before. */
        boolean end(Ending how) {
            return ending.compareAndSet(null, how);
        }

        /** Returns how it ended; null while it goes on. */
        @Nullable
        Ending ending() {
            return ending.get();
        }
    }
}
