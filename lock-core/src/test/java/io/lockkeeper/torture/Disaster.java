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

    /** What that does to locks, in spite of a promise. */
    enum Harm {
        NONE,

        /** A hold that one of the masters lacks since another disaster may be lost before its deadline. */
        LOCKS_ARE_LOST_AFTER_ANOTHER,

        /** A hold may be lost before its deadline. */
        LOCKS_ARE_LOST,

        /** Another one may have the lock, too, until the holder has lost it. */
        LOCKS_ARE_GIVEN_TWICE
    }

    final Loss loss;

    Disaster(Loss loss) {
        this.loss = loss;
    }

    Harm harm(TortureSettings.Promise promise) {
        return switch (loss) {
            case OF_NOTHING -> Harm.NONE;
            case OF_ALL -> Harm.LOCKS_ARE_GIVEN_TWICE;
            case OF_WHAT_NO_REPLICA_HAS, OF_A_WHOLE_SERVER ->
                switch (promise) {
                    case NONE -> Harm.LOCKS_ARE_GIVEN_TWICE;
                    case ACKNOWLEDGED -> loss == Loss.OF_A_WHOLE_SERVER ? Harm.LOCKS_ARE_LOST : Harm.NONE;
                    case QUORUM -> Harm.LOCKS_ARE_LOST_AFTER_ANOTHER;
                };
        };
    }
}
