/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.benchmarks;

import java.util.Locale;
import java.util.function.IntFunction;

/** All that are compared. */
enum Peers {
    RAW_JEDIS(RawPeers::jedis, false),
    RAW_LETTUCE(RawPeers::lettuce, false),
    REDISSON(port -> LibraryPeers.redisson(port, false), true),
    REDISSON_FAIR(port -> LibraryPeers.redisson(port, true), true),
    SPRING_JEDIS(port -> SpringIntegrationPeer.over(Connections.jedis(port), false), true),
    SPRING_LETTUCE(port -> SpringIntegrationPeer.over(Connections.lettuce(port), false), true),
    SPRING_SPIN(port -> SpringIntegrationPeer.over(Connections.jedis(port), true), true),
    LOCK4J(LibraryPeers::lock4j, true),
    SHEDLOCK(LibraryPeers::shedLock, false),
    LOCKKEEPER_JEDIS(port -> LockkeeperPeer.over(Connections.jedis(port), false), true),
    LOCKKEEPER_LETTUCE(port -> LockkeeperPeer.over(Connections.lettuce(port), false), true),
    LOCKKEEPER_FAIR(port -> LockkeeperPeer.over(Connections.jedis(port), true), true);

    private final IntFunction<Peer> opens;

    /** Whether a caller waits for a lock that is held; false: it would have to ask again and again. */
    final boolean waits;

    Peers(IntFunction<Peer> opens, boolean waits) {
        this.opens = opens;
        this.waits = waits;
    }

    Peer open(int port) {
        return opens.apply(port);
    }

    String title() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
