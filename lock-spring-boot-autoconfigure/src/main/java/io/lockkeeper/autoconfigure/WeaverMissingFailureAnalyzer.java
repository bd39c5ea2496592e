/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.interceptor.WeaverMissingException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says how to start the weaver. */
final class WeaverMissingFailureAnalyzer extends AbstractFailureAnalyzer<WeaverMissingException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, WeaverMissingException cause) {
        return new FailureAnalysis(
                "lockkeeper.mode is aspectj. " + cause.getMessage(),
                "Start the JVM with -javaagent:aspectjweaver.jar, the jar of org.aspectj:aspectjweaver, or remove"
                        + " lockkeeper.mode=aspectj.",
                cause);
    }
}
