/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.integration;

import io.lockkeeper.LockOperations;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.support.locks.LockRegistry;

/** Auto-configuration of a {@link LockkeeperLockRegistry}, where the application has no {@link LockRegistry}. */
@AutoConfiguration(afterName = "io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration")
@ConditionalOnSingleCandidate(LockOperations.class)
@ConditionalOnMissingBean(LockRegistry.class)
public final class LockkeeperLockRegistryAutoConfiguration {

    @Bean
    LockkeeperLockRegistry lockRegistry(LockOperations operations) {
        return new LockkeeperLockRegistry(operations);
    }
}
