/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import io.lockkeeper.store.DaemonThreads;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An engine that asks what surrounds an acquisition. Surrounding work that holds a lock on is one more level of the
 * thread's hold, so that the same thread enters the lock again until that work has ended.
 */
final class SurroundedEngine implements LockEngine {

    private final LockEngine engine;
    private final LockSurroundings surroundings;
    private final Executor executor;

    SurroundedEngine(LockEngine engine, LockSurroundings surroundings, Executor executor) {
        this.engine = engine;
        this.surroundings = surroundings;
        this.executor = executor;
    }

    @Override
    public LockLease acquire(LockRequest request) {
        return inside(kept -> {
            Consumer<LockLease> keeper = ask(request);
            return keeper == null ? engine.acquire(request) : enter(request, keeper, kept);
        });
    }

    @Override
    public void acquireAsync(LockRequest request, CompletableFuture<LockLease> result) {
        try {
            beginAsync(request, result);
        } catch (RuntimeException | Error refused) {
            // Whoever has a future looks for failures nowhere else.
            result.completeExceptionally(refused);
        }
    }

    private void beginAsync(LockRequest request, CompletableFuture<LockLease> result) {
        Collection<LockLease> kept = surroundings.heldOn();
        Consumer<LockLease> keeper = surroundings.beforeAcquisition(request, isHeld(request, kept));
        if (keeper == null) {
            engine.acquireAsync(request, result);
            return;
        }
        CompletableFuture<Level> entering = enterAsync(request, keeper, kept, kept);
        entering.whenComplete((level, failure) -> complete(() -> {
            if (level == null) {
                result.completeExceptionally(failure);
            } else if (!result.complete(level)) {
                // The caller has ended the future, and nobody received the lease.
                engine.releaseAsync(level, () -> {});
            }
        }));
        result.whenComplete((lease, failure) -> entering.cancel(false));
    }

    /** What hangs on the future of a caller does not run on the thread that called. */
    private void complete(Runnable task) {
        AtomicBoolean begun = new AtomicBoolean();
        Runnable once = () -> {
            if (begun.compareAndSet(false, true)) {
                task.run();
            }
        };
        try {
            executor.execute(once);
        } catch (Throwable refused) {
            completeElsewhere(once);
        }
    }

    private static void completeElsewhere(Runnable task) {
        try {
            DaemonThreads.factory("lockkeeper-refused").newThread(task).start();
        } catch (Throwable noThread) {
            // Better here than never.
            task.run();
        }
    }

    @Override
    public void releaseAsync(LockLease lease, Runnable then) {
        engine.releaseAsync(lease, then);
    }

    @Override
    public LockLease enter(LockRequest request) {
        return inside(kept -> enter(request, ask(request), kept));
    }

    @Override
    public CompletableFuture<Level> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        Collection<LockLease> kept = surroundings.heldOn();
        List<LockLease> around = new ArrayList<>(enclosing);
        around.addAll(kept);
        Consumer<LockLease> keeper = surroundings.beforeAcquisition(request, isHeld(request, around));
        return enterAsync(request, keeper, kept, around);
    }

    private CompletableFuture<Level> enterAsync(
            LockRequest request,
            @Nullable Consumer<LockLease> keeper,
            Collection<LockLease> kept,
            Collection<LockLease> around) {
        CompletableFuture<Level> entering = engine.enterAsync(request, around);
        return keeper == null || engine.covers(request, kept) ? entering : kept(request, keeper, entering);
    }

    @Override
    public Body body(LockLease lease) {
        return engine.body(lease);
    }

    @Override
    public boolean covers(LockRequest request, Collection<? extends LockLease> leases) {
        return engine.covers(request, leases);
    }

    /** Returns a level to come, beside which there is one that is kept. */
    private CompletableFuture<Level> kept(
            LockRequest request, Consumer<LockLease> keeper, CompletableFuture<Level> entering) {
        CompletableFuture<Level> result = new CompletableFuture<>();
        entering.whenComplete((level, failure) -> {
            if (level == null) {
                result.completeExceptionally(failure);
                return;
            }
            try {
                // Entered again, so it is there at once.
                keep(engine.enterAsync(request, List.of(level)).join(), keeper);
            } catch (Throwable lost) {
                engine.releaseAsync(level, () -> {});
                result.completeExceptionally(lost);
                return;
            }
            if (!result.complete(level)) {
                engine.releaseAsync(level, () -> {});
            }
        });
        result.whenComplete((level, failure) -> entering.cancel(false));
        return result;
    }

    @Override
    public void lock(LockRequest request, boolean interruptibly) {
        inside(kept -> {
            Consumer<LockLease> keeper = ask(request);
            engine.lock(request, interruptibly);
            if (keeper == null || engine.covers(request, kept)) {
                return request;
            }
            try {
                keep(engine.enter(request), keeper);
            } catch (RuntimeException | Error failure) {
                engine.unlock(request.names().get(0), request.mode());
                throw failure;
            }
            return request;
        });
    }

    @Override
    public void unlock(String name, LockMode mode) {
        engine.unlock(name, mode);
    }

    @Override
    public Optional<LockLease> held(String name, LockMode mode) {
        return engine.held(name, mode);
    }

    @Override
    public int holdCount(String name, LockMode mode) {
        return engine.holdCount(name, mode);
    }

    @Override
    public boolean isLocked(String name, LockMode mode) {
        return engine.isLocked(name, mode);
    }

    @Override
    public LockInspector inspector() {
        return engine.inspector();
    }

    @Override
    public void close() {
        engine.close();
    }

    @Override
    public String toString() {
        return engine.toString();
    }

    private @Nullable Consumer<LockLease> ask(LockRequest request) {
        return surroundings.beforeAcquisition(request, isHeld(request, List.of()));
    }

    private LockLease enter(LockRequest request, @Nullable Consumer<LockLease> keeper, Collection<LockLease> kept) {
        LockLease lease = engine.enter(request);
        if (keeper != null && !engine.covers(request, kept)) {
            try {
                keep(engine.enter(request), keeper);
            } catch (RuntimeException | Error failure) {
                lease.close();
                throw failure;
            }
        }
        return lease;
    }

    /** Gives a level to the one that keeps it, or ends it where that fails. */
    private static void keep(LockLease level, Consumer<LockLease> keeper) {
        try {
            keeper.accept(level);
        } catch (Throwable failure) {
            level.close();
            throw failure;
        }
    }

    /** Asks for a lock on a thread that is inside all that its surrounding work holds on. */
    private <T> T inside(Function<Collection<LockLease>, T> asking) {
        Collection<LockLease> kept = surroundings.heldOn();
        if (kept.isEmpty()) {
            return asking.apply(kept);
        }
        List<Runnable> leave = kept.stream()
                .filter(lease -> lease instanceof Level && lease.isHeld())
                .map(lease -> ((Level) lease).enterThread())
                .toList();
        try {
            return asking.apply(kept);
        } finally {
            leave.forEach(Runnable::run);
        }
    }

    private boolean isHeld(LockRequest request, Collection<? extends LockLease> enclosing) {
        return request.names().stream()
                .allMatch(name -> engine.held(name, LockMode.EXCLUSIVE).isPresent()
                        || engine.held(name, LockMode.READ).isPresent()
                        || enclosing.stream().anyMatch(lease -> lease.names().contains(name) && lease.isHeld()));
    }
}
