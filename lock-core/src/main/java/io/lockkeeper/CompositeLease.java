/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Levels of several holds, some of which were there before: held while all are held. */
final class CompositeLease implements EnteredLease {

    private final List<String> names;
    private final LockMode mode;
    private final List<NestedLease> levels;

    /** The first loss among the levels; null: none. Set before the level that was taken last ends because of it. */
    private volatile @Nullable LockLostException loss;

    CompositeLease(List<String> names, LockMode mode, List<NestedLease> levels) {
        this.names = names;
        this.mode = mode;
        this.levels = levels;
    }

    List<NestedLease> levels() {
        return levels;
    }

    @Override
    public Runnable enter(ReentrantHolds.Owner owner) {
        List<Runnable> leave = levels.stream().map(level -> level.enter(owner)).toList();
        return () -> leave.forEach(Runnable::run);
    }

    @Override
    public Runnable enterThread() {
        List<Runnable> leave = levels.stream().map(NestedLease::enterThread).toList();
        return () -> leave.forEach(Runnable::run);
    }

    /** The first loss frees what was taken last, for this lease alone or not: it ends with the others. */
    CompositeLease joined() {
        NestedLease last = levels.get(levels.size() - 1);
        onLost(lost -> {
            loss = lost;
            last.release();
        });
        return this;
    }

    @Override
    public long acquisition() {
        return levels.stream().mapToLong(NestedLease::acquisition).max().orElse(0);
    }

    @Override
    public String name() {
        return names.get(0);
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public LockMode mode() {
        return mode;
    }

    @Override
    public long fencingToken() {
        return fencingToken(name());
    }

    @Override
    public long fencingToken(String name) {
        return levels.stream()
                .filter(level -> level.names().contains(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("This lease holds " + names + ", not '" + name + "'"))
                .fencingToken(name);
    }

    @Override
    public boolean isHeld() {
        return levels.stream().allMatch(NestedLease::isHeld);
    }

    @Override
    public Duration remaining() {
        return levels.stream()
                .map(NestedLease::remaining)
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    @Override
    public void ensureHeld() {
        LockLostException lost = loss;
        if (lost != null) {
            throw new LockLostException(lost);
        }
        levels.forEach(NestedLease::ensureHeld);
    }

    @Override
    public boolean verify() {
        return levels.stream().allMatch(NestedLease::verify);
    }

    @Override
    public boolean extend(Duration leaseTime) {
        return levels.stream().allMatch(level -> level.extend(leaseTime));
    }

    @Override
    public boolean extend(Duration leaseTime, Duration minHoldTime) {
        return levels.stream().allMatch(level -> level.extend(leaseTime, minHoldTime));
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        AtomicBoolean told = new AtomicBoolean();
        levels.forEach(level -> level.onLost(lost -> {
            if (told.compareAndSet(false, true)) {
                callback.accept(lost);
            }
        }));
    }

    @Override
    public ReleaseResult release() {
        List<ReleaseResult> results = levels.stream().map(NestedLease::release).toList();
        boolean first = results.stream().anyMatch(result -> result != ReleaseResult.ALREADY_RELEASED);
        // The lost level may have ended already.
        return first && loss != null
                ? ReleaseResult.LOST
                : Collections.max(results, Comparator.comparingInt(CompositeLease::badness));
    }

    private static int badness(ReleaseResult result) {
        return switch (result) {
            case RELEASED -> 0;
            case ALREADY_RELEASED -> 1;
            case UNKNOWN -> 2;
            case LOST -> 3;
        };
    }

    @Override
    public CompletableFuture<?> closeAsync() {
        return CompletableFuture.allOf(
                levels.stream().map(NestedLease::closeAsync).toArray(CompletableFuture<?>[]::new));
    }

    @Override
    public void close() {
        levels.forEach(NestedLease::close);
    }

    @Override
    public String toString() {
        return "LockLease" + levels;
    }
}
