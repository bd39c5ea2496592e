/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.LockingMissingException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says what is missing without which no annotated method is locked. */
final class LockingMissingFailureAnalyzer extends AbstractFailureAnalyzer<LockingMissingException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LockingMissingException cause) {
        return new FailureAnalysis(cause.getMessage(), cause.remedy(), cause);
    }
}
