/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

/** What befalls one of several servers that take each other's place. */
enum Disaster {
    MASTER_DIES(Loss.OF_WHAT_NO_REPLICA_HAS),
    MASTER_HANGS(Loss.OF_WHAT_NO_REPLICA_HAS),
    FAILOVER(Loss.OF_WHAT_NO_REPLICA_HAS),
    STALE_REPLICA_TAKES_OVER(Loss.OF_WHAT_NO_REPLICA_HAS),
    REPLICAS_ARE_CUT_OFF(Loss.OF_NOTHING),
    MASTER_RESTARTS_EMPTY(Loss.OF_A_WHOLE_SERVER),
    DATA_IS_FLUSHED(Loss.OF_ALL),
    SLOT_MOVES(Loss.OF_NOTHING);

    /** What a server may lose by it. */
    enum Loss {
        OF_NOTHING,

        /** Nothing that was acknowledged by all replicas. */
        OF_WHAT_NO_REPLICA_HAS,

        /** All, but no lock is given for a lease where restarts are guarded against. */
        OF_A_WHOLE_SERVER,

        /** All, and nothing guards against that. */
        OF_ALL
    }

    final Loss loss;

    Disaster(Loss loss) {
        this.loss = loss;
    }

    /** Returns whether a holder may lose its lock by it before its deadline, in spite of a promise. */
    boolean takesLocks(TortureSettings.Promise promise) {
        return switch (promise) {
            case NONE -> loss != Loss.OF_NOTHING;
            case ACKNOWLEDGED -> loss == Loss.OF_ALL || loss == Loss.OF_A_WHOLE_SERVER;
            // One that came back does not have what was taken without it, and then the next one dies.
            case QUORUM -> loss != Loss.OF_NOTHING;
        };
    }

    /** Returns whether two may hold a lock after it, in spite of a promise, until the first of them renews it. */
    boolean givesLocksTwice(TortureSettings.Promise promise) {
        return loss == Loss.OF_ALL || (loss != Loss.OF_NOTHING && promise == TortureSettings.Promise.NONE);
    }
}
