/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One level of one or several reentrant holds: their leases are shared by all levels, but each level ends alone. */
final class NestedLease extends DelegatingLease {

    enum Kind {
        /** Ends with a body. */
        BODY,
        /** Ends with an unlock. */
        LOCK,
        /** Ends with the surrounding work that keeps a lock. */
        KEPT
    }

    private static final CompletableFuture<ReleaseResult> RELEASED =
            CompletableFuture.completedFuture(ReleaseResult.RELEASED);

    private final ReentrantHolds holds;
    final Kind kind;

    private volatile List<ReentrantHold> entered = List.of();
    private long acquisition;
    private List<Consumer<LockLostException>> callbacks = List.of();

    /** The owner, which is inside until this level ends; null: it has none. */
    private volatile @Nullable Object owner;

    NestedLease(ReentrantHolds holds, LockRequest request, Kind kind) {
        super(request);
        this.holds = holds;
        this.kind = kind;
    }

    // ---- its beginning ----

    /** Enters a hold unless it is over. With several holds, the loss of one makes the level leave all. */
    void enter(ReentrantHold hold) {
        // Before entering: an error for want of memory must not leave this level in a hold that it does not know.
        List<ReentrantHold> known = LockOwner.plus(entered, hold);
        if (!hold.enter(this)) {
            return;
        }
        synchronized (this) {
            entered = isReleased() ? entered : known;
        }
        if (isReleased()) {
            // The caller has given up in the meantime.
            hold.leave(this, false);
        } else if (entered.size() > 1) {
            // Registered again with each hold, because earlier callbacks did not know of this one.
            onLost(lost -> entered.forEach(held -> held.leave(this, false)));
        }
    }

    /** Begins a hold of a new lease, which is given back after an error. */
    void begin(LockManager.Lease lease) {
        try {
            enter(new ReentrantHold(lease));
            acquisition = lease.acquisition();
        } catch (Throwable failure) {
            lease.giveBack();
            throw failure;
        }
    }

    /** Returns the names that no hold of this level has. */
    List<String> missing() {
        return entered.isEmpty()
                ? names()
                : names().stream()
                        .filter(name -> entered.stream()
                                .noneMatch(hold -> hold.lease().names().contains(name)))
                        .toList();
    }

    /** Enters the same holds in a new level, for surrounding work that keeps them. */
    NestedLease keep() {
        ensureHeld();
        NestedLease level = new NestedLease(holds, request, Kind.KEPT);
        entered.forEach(level::enter);
        if (level.entered.size() < entered.size()) {
            // A hold has ended in the meantime, perhaps on another thread.
            level.close();
            ensureHeld();
        }
        return level;
    }

    /** Adds this level to an owner, until the level ends. */
    NestedLease bindTo(Object owner) {
        holds.enter(owner, this);
        this.owner = owner;
        return this;
    }

    /** Adds this level to the present thread as well, until the result is called on that thread. */
    Runnable enterThread() {
        Object thread = holds.self();
        holds.enter(thread, this);
        return () -> holds.leave(thread, this);
    }

    @Override
    public Runnable runHere() {
        List<Runnable> ends = leases().stream().map(LockManager.Lease::runHere).toList();
        return () -> ends.forEach(Runnable::run);
    }

    // ---- what it is ----

    /** Returns whether it belongs to a template's holds and has not ended. */
    boolean isOf(ReentrantHolds known) {
        return holds == known && !isReleased();
    }

    boolean isIn(ReentrantHold hold) {
        return entered.contains(hold);
    }

    /** Returns whether its owner only has to unlock it: a hold of it is over, or its fixed lease has ended. */
    boolean hasEnded(LockOwner inside) {
        return kind == Kind.LOCK
                && entered.stream()
                        .anyMatch(hold ->
                                hold.isOver() || (hold.lease().hasEndedAsAsked() && inside.hasOnlyLocksOf(hold)));
    }

    boolean reads() {
        return request.mode() == LockMode.READ;
    }

    /** Returns its hold of a name unless that is over; null: it has none. */
    @Nullable
    ReentrantHold find(String name, LockMode mode) {
        for (ReentrantHold hold : entered) {
            LockManager.Lease lease = hold.lease();
            // Without locking, readers and writers of a name have separate holds.
            boolean seen = holds.manager.excludes() || (lease.mode() == LockMode.READ) == (mode == LockMode.READ);
            if (seen && !hold.isOver() && lease.names().contains(name)) {
                return hold;
            }
        }
        return null;
    }

    @Override
    List<LockManager.Lease> leases() {
        List<ReentrantHold> known = entered;
        return known.size() == 1
                ? List.of(known.get(0).lease())
                : known.stream().map(ReentrantHold::lease).toList();
    }

    @Override
    public LockMode mode() {
        return reads() || entered.size() != 1
                ? request.mode()
                : entered.get(0).lease().mode();
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        Consumer<LockLostException> called = calledOnce(callback);
        leases().forEach(lease -> lease.onLost(called));
        synchronized (this) {
            if (!isReleased()) {
                callbacks = LockOwner.plus(callbacks, called);
                return;
            }
        }
        forget(called);
    }

    @Override
    public void forget(Consumer<LockLostException> callback) {
        leases().forEach(lease -> lease.forget(callback));
    }

    /** Runs a body on this thread, which is inside of the level. */
    <T extends @Nullable Object, X extends Throwable> T run(LockedAction<T, X> action) throws X {
        LockListener.Body begun = acquisition == 0 ? null : new LockListener.Body(acquisition);
        if (begun != null) {
            holds.manager.listener().onBodyBegins(begun);
        }
        Runnable leave = owner == null ? LockContext.enterThread(this) : LockContext.enter(this);
        return run(this, action, () -> {
            leave.run();
            if (begun != null) {
                holds.manager.listener().onBodyEnds(begun);
            }
        });
    }

    /** Runs a body and then its end. A failure of the end is suppressed in whatever the body threw. */
    static <T extends @Nullable Object, X extends Throwable> T run(
            LockLease lease, LockedAction<T, X> action, Runnable end) throws X {
        T result;
        try {
            result = action.run(lease);
        } catch (Throwable thrown) {
            try {
                end.run();
            } catch (Throwable failure) {
                suppress(failure, thrown);
            }
            throw thrown;
        }
        end.run();
        return result;
    }

    private static void suppress(Throwable failure, Throwable thrown) {
        try {
            if (failure != thrown) {
                thrown.addSuppressed(failure);
            }
        } catch (Throwable noMemory) {
            // The exception of the body is more important.
        }
    }

    // ---- its end ----

    @Override
    public ReleaseResult release() {
        return end(true).join();
    }

    @Override
    public CompletableFuture<ReleaseResult> closeAsync() {
        return end(false);
    }

    private CompletableFuture<ReleaseResult> end(boolean waits) {
        if (!end()) {
            return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
        }
        CompletableFuture<ReleaseResult> result;
        try {
            leave();
        } finally {
            result = leave(0, waits);
        }
        return result;
    }

    private CompletableFuture<ReleaseResult> leave(int first, boolean waits) {
        CompletableFuture<ReleaseResult> result = RELEASED;
        int next = first;
        try {
            while (next < entered.size()) {
                result = result.thenCombine(entered.get(next++).leave(this, waits), DelegatingLease::worse);
            }
        } finally {
            if (next < entered.size()) {
                // After an error, leave the remaining holds, too.
                result = leave(next, waits);
            }
        }
        return result;
    }

    /** Removes the callbacks of this level from holds that go on, and the level from its owner. */
    private void leave() {
        List<Consumer<LockLostException>> known;
        synchronized (this) {
            known = callbacks;
            callbacks = List.of();
        }
        known.forEach(this::forget);
        Object left = owner;
        if (left != null) {
            holds.leave(left, this);
        }
    }
}
