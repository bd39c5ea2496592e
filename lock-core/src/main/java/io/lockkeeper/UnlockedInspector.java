/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper;

import java.util.List;
import java.util.Optional;

/** Looks at the locks of an application that has none. */
final class UnlockedInspector implements LockInspector {

    @Override
    public Optional<LockStatus> status(String name) {
        return Optional.empty();
    }

    @Override
    public List<LockStatus> heldHere() {
        return List.of();
    }

    @Override
    public List<LockStatus> find(String namePattern, int limit) {
        return List.of();
    }

    @Override
    public boolean forceRelease(String name) {
        return false;
    }
}
