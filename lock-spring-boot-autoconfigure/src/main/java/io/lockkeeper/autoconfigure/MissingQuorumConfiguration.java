/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.store.LockStore;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Stops the start where masters of a quorum are named, and the module that locks on them is absent. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnMissingClass("io.lockkeeper.quorum.QuorumLockStore")
@ConditionalOnSwitch(Switch.QUORUM)
@ConditionalOnMissingBean(LockStore.class)
class MissingQuorumConfiguration {

    @Bean
    LockStore quorumLockStore() {
        throw LockStoreConfigurationException.noQuorum();
    }
}
