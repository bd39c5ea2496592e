/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains why there is no lock store. */
final class LockStoreFailureAnalyzer extends AbstractFailureAnalyzer<LockStoreConfigurationException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LockStoreConfigurationException cause) {
        return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
    }
}
