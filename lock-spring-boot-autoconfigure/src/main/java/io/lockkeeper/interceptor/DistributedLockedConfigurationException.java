/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.interceptor;

import java.util.List;
import java.util.stream.Collectors;

/** Annotated methods that cannot work as they are written; all their faults at once. */
public final class DistributedLockedConfigurationException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final transient List<DistributedLockedFault> faults;

    DistributedLockedConfigurationException(List<DistributedLockedFault> faults) {
        super(faults.stream()
                .map(DistributedLockedFault::toString)
                .collect(Collectors.joining("\n", "Wrong use of @DistributedLocked:\n", "")));
        this.faults = List.copyOf(faults);
    }

    /** Returns what is wrong: at least one fault. */
    public List<DistributedLockedFault> faults() {
        return faults;
    }
}
