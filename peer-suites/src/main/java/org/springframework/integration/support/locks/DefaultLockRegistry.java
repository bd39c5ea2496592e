/* SPDX-License-Identifier: Apache-2.0 */
package org.springframework.integration.support.locks;

import io.lockkeeper.integration.LockkeeperLockRegistry;
import io.lockkeeper.peers.PeerRedis;
import java.util.UUID;
import java.util.concurrent.locks.Lock;

/** Stands where Spring Integration's tests of leader election expect a registry of one JVM. */
public final class DefaultLockRegistry implements LockRegistry<Lock> {

    private final LockkeeperLockRegistry registry =
            new LockkeeperLockRegistry(PeerRedis.template(UUID.randomUUID().toString()));

    @Override
    public Lock obtain(Object lockKey) {
        return registry.obtain(lockKey);
    }
}
