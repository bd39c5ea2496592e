/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.shedlock;

import io.lockkeeper.LockOperations;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of a {@link LockkeeperLockProvider}, where the application has no {@link LockProvider}. */
@AutoConfiguration(afterName = "io.lockkeeper.autoconfigure.LockkeeperAutoConfiguration")
@ConditionalOnSingleCandidate(LockOperations.class)
@ConditionalOnMissingBean(LockProvider.class)
public final class LockkeeperLockProviderAutoConfiguration {

    @Bean
    LockkeeperLockProvider lockProvider(LockOperations operations) {
        return new LockkeeperLockProvider(operations);
    }
}
