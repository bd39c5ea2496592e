/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockEngine;
import io.lockkeeper.LockRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a caller has entered of the names that it asks for. */
final class Entry {

    private final LockRequest request;
    private final List<LevelLease> levels;

    Entry(LockRequest request, List<LevelLease> levels) {
        this.request = request;
        this.levels = levels;
    }

    /** Returns a request for the names that are in none of the levels; null: there are none. */
    @Nullable
    LockRequest missing() {
        if (levels.isEmpty()) {
            return request;
        }
        List<String> missing = request.names().stream()
                .filter(name -> levels.stream().noneMatch(level -> level.names().contains(name)))
                .toList();
        return missing.isEmpty()
                ? null
                : new LockRequest(
                        missing,
                        request.mode(),
                        request.waitTime(),
                        request.leaseTime(),
                        request.retryCount(),
                        request.retryDelay(),
                        request.minHoldTime(),
                        request.label());
    }

    void add(LevelLease level) {
        levels.add(level);
    }

    /** Returns all levels as one. */
    LockEngine.Level level() {
        return levels.size() == 1 ? levels.get(0) : new JointLease(request.names(), request.mode(), levels).joined();
    }

    void bindToThread() {
        levels.forEach(LevelLease::bindToThread);
    }

    void close() {
        levels.forEach(LevelLease::close);
    }

    void closeAsync() {
        levels.forEach(LevelLease::closeAsync);
    }
}
