package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What each thread holds through the forms that are bound to it. Empty threads keep nothing. */
final class ThreadHolds {

    @SuppressWarnings("ThreadLocalUsage") // Two engines may keep the same name in different stores.
    private final ThreadLocal<@Nullable Map<String, ThreadHold>> holds = new ThreadLocal<>();

    /** Returns this thread's hold of a name; null where it has none, or released it. */
    @Nullable
    ThreadHold find(String name) {
        Map<String, ThreadHold> mine = holds.get();
        ThreadHold hold = mine == null ? null : mine.get(name);
        return hold == null || hold.levels() == 0 || hold.lease().isReleased() ? null : hold;
    }

    /** Returns what this thread has entered and not left, also where its lease was released by another thread. */
    @Nullable
    ThreadHold entered(String name) {
        Map<String, ThreadHold> mine = holds.get();
        ThreadHold hold = mine == null ? null : mine.get(name);
        return hold == null || hold.levels() == 0 ? null : hold;
    }

    ThreadHold add(HeldLease lease) {
        ThreadHold hold = new ThreadHold(lease, this);
        Map<String, ThreadHold> mine = holds.get();
        if (mine == null) {
            mine = new HashMap<>();
            holds.set(mine);
        } else {
            // What other threads released for this one.
            mine.values().removeIf(old -> old.levels() == 0);
        }
        mine.put(lease.name(), hold);
        return hold;
    }

    /** Forgets a hold of this thread, if it is over. */
    void forget(String name) {
        Map<String, ThreadHold> mine = holds.get();
        if (mine != null && mine.containsKey(name) && find(name) == null) {
            mine.remove(name);
            if (mine.isEmpty()) {
                holds.remove();
            }
        }
    }

    boolean isEmpty() {
        Map<String, ThreadHold> mine = holds.get();
        return mine == null || mine.keySet().stream().allMatch(name -> find(name) == null);
    }

    int levels(String name) {
        ThreadHold hold = find(name);
        return hold == null ? 0 : hold.levels();
    }

    Optional<LockLease> lease(String name) {
        return Optional.ofNullable(find(name)).map(ThreadHold::lease);
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
