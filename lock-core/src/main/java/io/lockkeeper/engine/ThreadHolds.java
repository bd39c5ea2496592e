package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockUpgradeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What each thread holds through the forms that are bound to it. Empty threads keep nothing. */
final class ThreadHolds {

    private final UnaryOperator<HeldLease> downgrade;

    @SuppressWarnings("ThreadLocalUsage") // Two engines may keep the same name in different stores.
    private final ThreadLocal<@Nullable Map<String, ThreadHold>> holds = new ThreadLocal<>();

    /**
     * Creates an empty set.
     *
     * @param downgrade turns the lease of an exclusive holder into one of a reader
     */
    ThreadHolds(UnaryOperator<HeldLease> downgrade) {
        this.downgrade = downgrade;
    }

    /** Returns this thread's hold of a name; null where it has none, or released it. */
    @Nullable
    ThreadHold find(String name) {
        ThreadHold hold = entered(name);
        return hold == null || hold.lease().isReleased() ? null : hold;
    }

    /** Returns what this thread has entered and not left, also where its lease was released by another thread. */
    @Nullable
    ThreadHold entered(String name) {
        Map<String, ThreadHold> mine = holds.get();
        ThreadHold hold = mine == null ? null : mine.get(name);
        return hold == null || !hold.isEntered() ? null : hold;
    }

    /**
     * Returns this thread's holds of the names that it holds already, each once.
     *
     * @throws LockUpgradeException if it reads one of them, and now asks for more than to read
     */
    List<ThreadHold> reentered(LockRequest request) {
        List<ThreadHold> found = new ArrayList<>(1);
        for (String name : request.names()) {
            ThreadHold hold = find(name);
            if (hold != null && hold.lease().mode() == LockMode.READ && request.mode() != LockMode.READ) {
                throw new LockUpgradeException(name, request.mode());
            }
            if (hold != null) {
                hold.lease().ensureHeld();
            }
            if (hold != null && !found.contains(hold)) {
                found.add(hold);
            }
        }
        return found;
    }

    ThreadHold add(HeldLease lease) {
        ThreadHold hold = new ThreadHold(lease, this, downgrade);
        Map<String, ThreadHold> mine = holds.get();
        if (mine == null) {
            mine = new HashMap<>();
            holds.set(mine);
        } else {
            // What other threads released for this one.
            mine.values().removeIf(old -> !old.isEntered());
        }
        for (String name : lease.names()) {
            mine.put(name, hold);
        }
        return hold;
    }

    /** Forgets holds of this thread that are over. */
    void forget(List<String> names) {
        Map<String, ThreadHold> mine = holds.get();
        if (mine == null) {
            return;
        }
        for (String name : names) {
            if (find(name) == null) {
                mine.remove(name);
            }
        }
        if (mine.isEmpty()) {
            holds.remove();
        }
    }

    boolean isEmpty() {
        Map<String, ThreadHold> mine = holds.get();
        return mine == null || mine.keySet().stream().allMatch(name -> find(name) == null);
    }

    /** Returns how many levels this thread has of a name: of those that read, or of the others. */
    int levels(String name, LockMode mode) {
        ThreadHold hold = find(name);
        return hold == null ? 0 : hold.levels(mode);
    }

    Optional<LockLease> lease(String name, LockMode mode) {
        return Optional.ofNullable(find(name))
                .filter(hold -> hold.levels(mode) > 0)
                .map(ThreadHold::lease);
    }

    /** Refuses a request for a lease of its own that would wait for this very thread. */
    void refuseHeld(LockRequest request) {
        for (String name : request.names()) {
            ThreadHold hold = find(name);
            if (hold != null && hold.lease().isHeld()) {
                throw new IllegalStateException("This thread holds lock '" + name + "' already, through execute, run, a"
                        + " DistributedLock or an annotated method, and would wait for itself: acquire and tryAcquire"
                        + " give a lease of their own each time. Use execute or run to enter the lock again, or"
                        + " LockContext.current() to get the lease.");
            }
        }
    }
}
