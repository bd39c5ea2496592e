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

    /** What can befall these servers now. */
    List<Disaster> disasters();

    /**
     * Lets a disaster happen, waits for what follows from it, and until all servers are well again.
     *
     * @param lasts for how long something is wrong, where it is not over at once
     * @return after when nothing more was lost, on the shared clock: that may be long before all are well
     */
    long suffer(Disaster disaster, Duration lasts, Random random);

    /** How much longer than needed there is nothing wrong after a disaster, at the most. */
    default int calmMillis() {
        return 1_500;
    }

    /** The servers that have the data now. */
    List<RedisServer> masters();

    @Override
    void close();
}
