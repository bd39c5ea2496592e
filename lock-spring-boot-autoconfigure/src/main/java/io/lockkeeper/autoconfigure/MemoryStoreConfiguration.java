/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.autoconfigure;

import io.lockkeeper.autoconfigure.LockkeeperProperties.StoreType;
import io.lockkeeper.memory.MemoryLockStore;
import io.lockkeeper.store.LockStore;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Locks in the memory of this process. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnSwitch(Switch.MEMORY)
@ConditionalOnMissingBean(LockStore.class)
class MemoryStoreConfiguration {

    // The template closes its store.
    @Bean(destroyMethod = "")
    MemoryLockStore memoryLockStore(LockkeeperProperties properties) {
        if (properties.store() != StoreType.MEMORY) {
            throw LockStoreConfigurationException.chosenOtherwise("lockkeeper.store", "memory", "redis");
        }
        return new MemoryLockStore();
    }
}
