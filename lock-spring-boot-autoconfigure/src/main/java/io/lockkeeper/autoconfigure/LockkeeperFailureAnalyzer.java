/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.DistributedLockedConfigurationException;
import io.lockkeeper.interceptor.DistributedLockedFault;
import io.lockkeeper.interceptor.LockingMissingException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/** Explains everything that the start refuses, and says what to change. */
final class LockkeeperFailureAnalyzer implements FailureAnalyzer {

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof DistributedLockedConfigurationException wrong) {
                return new FailureAnalysis(
                        "Methods with @DistributedLocked cannot work as they are written:\n\n"
                                + listed(wrong, DistributedLockedFault::problem),
                        "Change these methods:\n\n" + listed(wrong, DistributedLockedFault::remedy),
                        wrong);
            } else if (cause instanceof LockingMissingException missing) {
                return new FailureAnalysis(missing.getMessage(), missing.remedy(), missing);
            }
        }
        return null;
    }

    private static String listed(
            DistributedLockedConfigurationException wrong, Function<DistributedLockedFault, String> text) {
        return wrong.faults().stream()
                .map(fault -> "  - " + fault.place() + ":\n        " + text.apply(fault))
                .collect(Collectors.joining("\n"));
    }
}
