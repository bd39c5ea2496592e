/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One level of a hold, or of several: the leases that all levels share, but for its end. Where it is one of several
 * holds, the first loss frees what was taken last.
 */
final class NestedLease extends DelegatingLease {

    private final ReentrantHolds holds;
    final LockRequest request;

    /** Whether the level is that of a body; else that of a lock, until its unlock. */
    final boolean body;

    private volatile List<ReentrantHold> entered = List.of();
    private long acquisition;
    private List<Consumer<LockLostException>> callbacks = List.of();

    /** The owner that this level belongs to; null: it belongs to none. */
    volatile @Nullable LockOwner owner;

    /** Whether a loss has ended what was taken last. Guarded by this. */
    private boolean lastLeft;

    NestedLease(ReentrantHolds holds, LockRequest request, boolean body) {
        this.holds = holds;
        this.request = request;
        this.body = body;
    }

    // ---- its beginning ----

    /** Enters a hold, unless that is over. */
    void enter(ReentrantHold hold) {
        if (!hold.enter(this)) {
            return;
        }
        synchronized (this) {
            if (!isReleased()) {
                entered = entered.isEmpty()
                        ? List.of(hold)
                        : Stream.concat(entered.stream(), Stream.of(hold)).toList();
                return;
            }
        }
        // The caller has given up meanwhile.
        hold.leave(this, false);
    }

    /** Begins a hold; a lease that it cannot take goes back. */
    void begin(LockManager.Lease lease) {
        try {
            enter(new ReentrantHold(lease));
            acquisition = lease.acquisition();
        } catch (Throwable failure) {
            lease.giveBack();
            throw failure;
        }
    }

    /** Returns a request for the names that no hold of this level has; null: there are none. */
    @Nullable
    LockRequest missing() {
        if (entered.isEmpty()) {
            return request;
        }
        List<String> missing = names().stream()
                .filter(name ->
                        entered.stream().noneMatch(hold -> hold.lease().names().contains(name)))
                .toList();
        return missing.isEmpty() ? null : request.withNames(missing);
    }

    /** The level has all that was asked for. */
    NestedLease complete() {
        if (entered.size() > 1) {
            onLost(lost -> leaveLast());
        }
        return this;
    }

    /** Enters the same once more. */
    NestedLease again() {
        ensureHeld();
        NestedLease level = new NestedLease(holds, request, true);
        entered.forEach(level::enter);
        return level.complete();
    }

    /** Puts this thread inside, until the result is called on it. */
    Runnable enterThread() {
        LockOwner thread = holds.thisThread();
        // Stands for this level, which may be that of several threads, and is counted in no hold.
        NestedLease inside = new NestedLease(holds, request, body);
        inside.entered = entered;
        thread.enter(inside);
        return () -> thread.leave(inside);
    }

    /** Makes this a level of an owner, which is inside until the level ends. */
    void bindTo(LockOwner owner) {
        owner.enter(this);
        this.owner = owner;
    }

    // ---- what it is ----

    /** Returns whether it goes on, and the same holds are entered by it. */
    boolean isOf(ReentrantHolds known) {
        return holds == known && !isReleased();
    }

    boolean isIn(ReentrantHold hold) {
        return entered.contains(hold);
    }

    /** Returns whether it ended by itself, as asked. */
    boolean hasLapsed() {
        return !entered.isEmpty()
                && entered.stream()
                        .allMatch(hold -> hold.isOver() || (hold.lease().hasEndedAsAsked() && !hold.hasBodies()));
    }

    boolean reads() {
        return request.mode() == LockMode.READ;
    }

    /** Returns its hold of a name that goes on; null: it has none. */
    @Nullable
    ReentrantHold find(String name, LockMode mode) {
        for (ReentrantHold hold : entered) {
            LockManager.Lease lease = hold.lease();
            // Where nothing excludes, a name is read and written apart.
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
    public List<String> names() {
        return request.names();
    }

    @Override
    public LockMode mode() {
        return reads() || entered.size() != 1 ? request.mode() : super.mode();
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        Consumer<LockLostException> called = calledOnce(callback);
        leases().forEach(lease -> lease.onLost(called));
        synchronized (this) {
            if (!isReleased()) {
                callbacks = callbacks.isEmpty() ? new ArrayList<>(1) : callbacks;
                callbacks.add(called);
                return;
            }
        }
        forget(called);
    }

    @Override
    public void forget(Consumer<LockLostException> callback) {
        leases().forEach(lease -> lease.forget(callback));
    }

    private void leaveLast() {
        synchronized (this) {
            if (isReleased() || lastLeft) {
                return;
            }
            lastLeft = true;
        }
        entered.get(entered.size() - 1).leave(this, true);
    }

    /** Runs a body on this thread, which is inside. */
    <T extends @Nullable Object, X extends Throwable> T run(LockedAction<T, X> action) throws X {
        LockListener.Body begun = acquisition == 0 ? null : new LockListener.Body(acquisition);
        if (begun != null) {
            holds.manager.listener().onBodyBegins(begun);
        }
        Runnable leave = owner == null ? LockContext.enterThread(this) : LockContext.enter(this);
        try {
            return action.run(this);
        } finally {
            leave.run();
            if (begun != null) {
                holds.manager.listener().onBodyEnds(begun);
            }
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
        List<ReentrantHold> left = entered;
        CompletableFuture<ReleaseResult> result;
        try {
            left = leave();
        } finally {
            result = CompletableFuture.completedFuture(
                    left.size() == entered.size() ? ReleaseResult.RELEASED : ReleaseResult.LOST);
            for (ReentrantHold hold : left) {
                result = result.thenCombine(hold.leave(this, waits), DelegatingLease::worse);
            }
        }
        return result;
    }

    /** Ends what is this level's alone: its callbacks would stay in a hold that goes on. Returns what is left. */
    private List<ReentrantHold> leave() {
        List<Consumer<LockLostException>> known;
        List<ReentrantHold> stillIn;
        synchronized (this) {
            known = callbacks;
            callbacks = List.of();
            stillIn = lastLeft ? entered.subList(0, entered.size() - 1) : entered;
        }
        known.forEach(this::forget);
        LockOwner left = owner;
        if (left != null) {
            left.leave(this);
        }
        return stillIn;
    }
}
