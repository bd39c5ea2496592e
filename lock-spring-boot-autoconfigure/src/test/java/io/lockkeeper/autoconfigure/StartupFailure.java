/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import java.util.Objects;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler;

/** Describes why an application did not start, as Spring Boot does. */
final class StartupFailure {

    private StartupFailure() {}

    /** Returns what the first analyzer says that knows the failure: of Spring Boot, or of this library. */
    static FailureAnalysis analyze(Throwable failure) {
        FailureHandler needsAContext = FailureHandler.handleMessage((message, cause) -> {});
        return SpringFactoriesLoader.forDefaultResourceLocation().load(FailureAnalyzer.class, needsAContext).stream()
                .map(analyzer -> analyzer.analyze(failure))
                .filter(Objects::nonNull)
                .findFirst()
                .orElseThrow(() -> new AssertionError("No analyzer knows this failure", failure));
    }
}
