/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How many replicas a master has had at once, as far as it was watched. One that is missing now counts: a master that was
 * cut off has none, and must not give locks for that reason.
 *
 * @param history the id of the master's history of writes, which begins anew with another master
 * @param most how many replicas it had
 */
record ReplicaCount(String history, int most) {

    private static final int LEAST = 1;

    /** Takes in the reply of {@code replicas.lua}. */
    ReplicaCount seen(@Nullable Object reply) {
        if (!(reply instanceof List<?> list)) {
            throw new StoreException(
                    "Redis does not tell how many replicas it has: permit its user to run INFO (ACL +info), or set"
                            + " replica acks to a number. "
                            + (reply instanceof Throwable refusal ? Failures.rootMessage(refusal) : reply),
                    reply instanceof Throwable refusal ? refusal : null);
        }
        String current = new String((byte[]) list.get(0), StandardCharsets.UTF_8);
        int online = Math.max(LEAST, ((Long) list.get(1)).intValue());
        return new ReplicaCount(current, current.equals(history) ? Math.max(most, online) : online);
    }
}
