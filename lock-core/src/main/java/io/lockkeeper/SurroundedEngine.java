package io.lockkeeper;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
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
        Consumer<LockLease> keeper = ask(request);
        return keeper == null ? engine.acquire(request) : enter(request, keeper);
    }

    @Override
    public void acquireAsync(LockRequest request, CompletableFuture<LockLease> result) {
        Consumer<LockLease> keeper = surroundings.beforeAcquisition(request, false);
        engine.acquireAsync(request, keeper == null ? result : kept(keeper, result));
    }

    /** Returns what receives a lease that is handed on, and kept when its receiver releases it. */
    private CompletableFuture<LockLease> kept(Consumer<LockLease> keeper, CompletableFuture<LockLease> result) {
        CompletableFuture<LockLease> acquisition = new CompletableFuture<>();
        acquisition.whenComplete((lease, failure) -> {
            if (lease == null) {
                result.completeExceptionally(failure);
            } else if (!result.complete(new KeptLease(lease, keeper))) {
                // The caller has ended the future, and nobody received the lease.
                engine.releaseAsync(lease, () -> {});
            }
        });
        result.whenComplete((lease, failure) -> acquisition.cancel(false));
        return acquisition;
    }

    @Override
    public void releaseAsync(LockLease lease, Runnable then) {
        if (lease instanceof KeptLease) {
            // Where the surrounding work is over, the store is asked at once.
            executor.execute(() -> {
                lease.close();
                then.run();
            });
        } else {
            engine.releaseAsync(lease, then);
        }
    }

    @Override
    public LockLease enter(LockRequest request) {
        return enter(request, ask(request));
    }

    @Override
    public CompletableFuture<Level> enterAsync(LockRequest request, Collection<? extends LockLease> enclosing) {
        Consumer<LockLease> keeper = surroundings.beforeAcquisition(request, isHeld(request, enclosing));
        CompletableFuture<Level> entering = engine.enterAsync(request, enclosing);
        return keeper == null ? entering : kept(request, keeper, entering);
    }

    @Override
    public Body body(LockLease lease) {
        return engine.body(lease);
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
            // Entered again, so it is there at once.
            engine.enterAsync(request, List.of(level)).thenAccept(keeper);
            if (!result.complete(level)) {
                engine.releaseAsync(level, () -> {});
            }
        });
        result.whenComplete((level, failure) -> entering.cancel(false));
        return result;
    }

    @Override
    public void lock(LockRequest request, boolean interruptibly) {
        Consumer<LockLease> keeper = ask(request);
        engine.lock(request, interruptibly);
        if (keeper == null) {
            return;
        }
        try {
            keeper.accept(engine.enter(request));
        } catch (RuntimeException | Error failure) {
            engine.unlock(request.names().get(0), request.mode());
            throw failure;
        }
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

    private LockLease enter(LockRequest request, @Nullable Consumer<LockLease> keeper) {
        LockLease lease = engine.enter(request);
        if (keeper != null) {
            try {
                keeper.accept(engine.enter(request));
            } catch (RuntimeException | Error failure) {
                lease.close();
                throw failure;
            }
        }
        return lease;
    }

    private boolean isHeld(LockRequest request, Collection<? extends LockLease> enclosing) {
        return request.names().stream()
                .allMatch(name -> engine.held(name, LockMode.EXCLUSIVE).isPresent()
                        || engine.held(name, LockMode.READ).isPresent()
                        || enclosing.stream().anyMatch(lease -> lease.names().contains(name) && lease.isHeld()));
    }
}
