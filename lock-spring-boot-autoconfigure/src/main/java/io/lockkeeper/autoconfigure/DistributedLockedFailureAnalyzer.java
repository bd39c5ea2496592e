/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.DistributedLockedConfigurationException;
import io.lockkeeper.interceptor.DistributedLockedFault;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Lists everything that is wrong with annotated methods, and what to write instead. */
final class DistributedLockedFailureAnalyzer extends AbstractFailureAnalyzer<DistributedLockedConfigurationException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, DistributedLockedConfigurationException cause) {
        List<DistributedLockedFault> faults = cause.faults();
        String description = faults.stream()
                .map(fault -> "  - " + fault.place() + ":\n        " + fault.problem())
                .collect(Collectors.joining(
                        "\n", "Methods with @DistributedLocked cannot work as they are written:\n\n", ""));
        String action = faults.stream()
                .map(fault -> "  - " + fault.place() + ":\n        " + fault.remedy())
                .collect(Collectors.joining("\n", "Change these methods:\n\n", ""));
        return new FailureAnalysis(description, action, cause);
    }
}
