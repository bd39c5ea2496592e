/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

/** What a {@link Nemesis} does; to one worker, or to the server and so to all. */
enum FaultKind {
    CUT_REPLIES(true),
    DELAY_REPLIES(true),
    DELAY_REQUESTS(true),
    DUPLICATE_REQUESTS(true),
    LATE_COPIES(true),
    SWALLOW_REQUESTS(true),
    LOSE_MESSAGES(true),
    DROP_CONNECTIONS(true),
    STOP_WORKER(true),
    KILL_WORKER(true),
    STOP_SERVER(false),
    PAUSE_CLIENTS(false),
    READ_ONLY_SERVER(false),
    FULL_SERVER(false),
    KILL_PUBSUB_CLIENTS(false),
    KILL_NORMAL_CLIENTS(false),
    FLUSH_SCRIPTS(false);

    /** Whether it befalls one worker. */
    final boolean ofWorker;

    FaultKind(boolean ofWorker) {
        this.ofWorker = ofWorker;
    }
}
