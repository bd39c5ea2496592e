/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.peers;

import io.lockkeeper.LockTemplate;
import io.lockkeeper.shedlock.LockkeeperLockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.provider.redis.testsupport.AbstractRedisSafeUpdateIntegrationTest;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/** Our provider in ShedLock's tests of extensible providers on Redis, its fuzz test among them. */
class ShedLockSuiteTest extends AbstractRedisSafeUpdateIntegrationTest {

    private final LockTemplate template = PeerRedis.template("shedlock-suite");
    private final LockkeeperLockProvider provider = new LockkeeperLockProvider(template);

    @AfterEach
    void close() {
        template.close();
    }

    @Override
    protected ExtensibleLockProvider getLockProvider() {
        return provider;
    }

    @Override
    protected @Nullable String getLock(String lockName) {
        return template.inspector()
                .status(lockName)
                .filter(status -> !status.holders().isEmpty())
                .map(Object::toString)
                .orElse(null);
    }
}
