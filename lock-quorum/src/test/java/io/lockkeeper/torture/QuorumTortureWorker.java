/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.quorum.QuorumLockStore;
import io.lockkeeper.redis.RedisLockStore;
import java.util.stream.Stream;

/** A worker that locks on a majority of independent masters, whose ports are told it with commas. */
final class QuorumTortureWorker {

    private QuorumTortureWorker() {}

    public static void main(String[] arguments) throws Exception {
        TortureWorker.work(
                arguments,
                (connect, address, options) -> new QuorumLockStore(Stream.of(address.split(",", -1))
                        .map(port -> new RedisLockStore(connect.apply(port), options.withRestartGuard(true)))
                        .toList()));
    }
}
