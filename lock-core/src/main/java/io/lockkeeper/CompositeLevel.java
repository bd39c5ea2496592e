/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Levels of several holds, some of which were there before; the first loss among them ends what was taken last. */
final class CompositeLevel extends CompositeLease<NestedLease> implements EnteredLease {

    /** The first loss among the levels; null: none. Set before the level that was taken last ends because of it. */
    private volatile @Nullable LockLostException loss;

    CompositeLevel(LockRequest request, List<NestedLease> levels) {
        super(request, levels);
    }

    /** The first loss frees what was taken last, for this lease alone or not: it ends with the others. */
    CompositeLevel joined() {
        NestedLease last = leases().get(leases().size() - 1);
        onLost(lost -> {
            loss = lost;
            last.release();
        });
        return this;
    }

    @Override
    public Runnable enter(ReentrantHolds.Owner owner) {
        List<Runnable> leave =
                leases().stream().map(level -> level.enter(owner)).toList();
        return () -> leave.forEach(Runnable::run);
    }

    @Override
    public Runnable enterThread() {
        List<Runnable> leave = leases().stream().map(NestedLease::enterThread).toList();
        return () -> leave.forEach(Runnable::run);
    }

    @Override
    public long acquisition() {
        return leases().stream().mapToLong(NestedLease::acquisition).max().orElse(0);
    }

    @Override
    public void ensureHeld() {
        LockLostException lost = loss;
        if (lost != null) {
            throw new LockLostException(lost);
        }
        super.ensureHeld();
    }

    @Override
    public ReleaseResult release() {
        List<ReleaseResult> results =
                leases().stream().map(NestedLease::release).toList();
        boolean first = results.stream().anyMatch(result -> result != ReleaseResult.ALREADY_RELEASED);
        // The lost level may have ended already.
        return first && loss != null ? ReleaseResult.LOST : worst(results);
    }

    @Override
    public CompletableFuture<?> closeAsync() {
        return CompletableFuture.allOf(
                leases().stream().map(NestedLease::closeAsync).toArray(CompletableFuture<?>[]::new));
    }
}
