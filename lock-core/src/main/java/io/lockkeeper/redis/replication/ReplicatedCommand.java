/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.redis.replication;

import io.lockkeeper.redis.Failures;
import io.lockkeeper.redis.LuaScript;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A script that runs on a master; most count only when replicas have what they wrote. */
final class ReplicatedCommand {

    private static final int MOST_SENDS = 8;

    final CompletableFuture<List<Object>> result = new CompletableFuture<>();
    final LuaScript script;

    /** Whether it counts only when replicas have what it wrote. */
    final boolean counts;

    /** What is sent: the script's hash, or its text once a server did not know that. */
    byte[][] words;

    /** Whether the slot of the keys is on its way to the server. */
    boolean asking;

    /** Whether a lost connection may have been there before the command was: a new one is worth a try. */
    boolean retried;

    private int sends;

    ReplicatedCommand(LuaScript script, byte[][] words, boolean counts) {
        this.script = script;
        this.words = words;
        this.counts = counts;
    }

    /** Returns whether the command may be sent once more; where not, it has failed. */
    boolean maySend(Throwable reason) {
        sends++;
        if (sends > MOST_SENDS) {
            fail(reason);
        }
        return !result.isDone();
    }

    void fail(Throwable failure) {
        result.completeExceptionally(Failures.at(script.name(), failure));
    }
}
