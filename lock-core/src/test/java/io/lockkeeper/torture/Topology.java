/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.testing.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/** Several servers that take each other's place. */
interface Topology extends AutoCloseable {

    /** What a worker connects to. */
    String address();

    /** The main class of a worker. */
    default Class<?> worker() {
        return TortureWorker.class;
    }

    /** What can befall these servers. */
    List<Disaster> disasters();

    /**
     * Lets a disaster happen, waits for what follows from it, and until all servers are well again.
     *
     * @param lasts for how long something is wrong, where it is not over at once
     */
    void suffer(Disaster disaster, Duration lasts, Random random);

    /** The servers that have the data now. */
    List<RedisServer> masters();

    @Override
    void close();
}
