/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test in which a fencing token did not rise: that of an exclusive hold must be above all tokens that were used
 * before of the same name, local passes included, and that of a reader not below them. Sees the commands and answers of
 * all stores of the test.
 *
 * <p>A hold is noted before the engine hears of it, and its end before the store does: so they are noted in the order
 * in which the store had them, unless a hold ends by itself before the news of it has come.
 */
public final class FencingOrder implements AfterEachCallback {

    // No monitor: virtual threads come here
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, AcquireCommand> asked = new HashMap<>();
    private final Set<String> ended = new HashSet<>();
    private final Map<String, Hold> holds = new HashMap<>();
    private final Map<String, Long> highest = new HashMap<>();
    private final List<String> faults = new ArrayList<>();

    private record Hold(String attempt, long first, long last) {}

    /** Returns a store that does what another one does, under the eyes of this. */
    public LockStore watch(LockStore store) {
        return new FencingOrderStore(store, this);
    }

    @Override
    public void afterEach(ExtensionContext context) {
        assertThat(faults()).isEmpty();
    }

    List<String> faults() {
        return locked(() -> List.copyOf(faults));
    }

    /** An attempt asks for locks. */
    void asked(AcquireCommand command) {
        locked(() -> asked.put(command.attempt(), command));
    }

    /** The store has said which tokens an attempt has of its locks. */
    void acquired(String attempt, List<Long> firstTokens) {
        List<String> names = locked(() -> asked.get(attempt)).names();
        for (int i = 0; i < names.size(); i++) {
            granted(attempt, names.get(i), firstTokens.get(i));
        }
    }

    /** The store has said which token an attempt has of a lock. */
    void granted(String attempt, String name, long first) {
        locked(() -> {
            AcquireCommand command = asked.get(attempt);
            Hold before = holds.get(name);
            boolean known = before != null && before.attempt.equals(attempt) && before.first == first;
            if (command == null || ended.contains(attempt) || known) {
                return faults;
            }
            if (command.mode() == ClaimMode.READ) {
                check(first >= highest(name), name, first);
                return faults;
            }
            if (before != null) {
                // It ended without our doing: all that was reserved may have been used
                highest.merge(name, before.last, Math::max);
            }
            check(first > highest(name), name, first);
            holds.put(name, new Hold(attempt, first, first + command.tokens() - 1));
            return faults;
        });
    }

    /** What an attempt has ends now. */
    void ended(ReleaseCommand command) {
        locked(() -> {
            ended.add(command.attempt());
            for (String name : command.names()) {
                Hold hold = holds.get(name);
                if (hold != null && hold.attempt.equals(command.attempt())) {
                    boolean told = command.lastToken() > 0
                            && name.equals(command.names().get(0));
                    long last = told ? command.lastToken() : hold.last;
                    check(last >= hold.first - 1 && last <= hold.last, name, last);
                    highest.merge(name, last, Math::max);
                    holds.remove(name);
                }
            }
            return faults;
        });
    }

    private long highest(String name) {
        return highest.getOrDefault(name, 0L);
    }

    private void check(boolean right, String name, long token) {
        if (!right) {
            faults.add("%s: token %d after %d, hold %s".formatted(name, token, highest(name), holds.get(name)));
        }
    }

    private <T> T locked(Supplier<T> task) {
        lock.lock();
        try {
            return task.get();
        } finally {
            lock.unlock();
        }
    }
}
