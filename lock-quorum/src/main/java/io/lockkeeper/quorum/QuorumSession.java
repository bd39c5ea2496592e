/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The commands of an open store that take, keep and end holds. */
final class QuorumSession {

    private final Quorum quorum;
    private final Attempts attempts = new Attempts();
    private final Releases releases;
    private final Turns turns = new Turns(System::nanoTime);

    QuorumSession(Quorum quorum) {
        this.quorum = quorum;
        this.releases = new Releases(quorum, attempts);
    }

    Quorum quorum() {
        return quorum;
    }

    CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        return acquire(command, 0);
    }

    private CompletableFuture<AcquireReply> acquire(AcquireCommand command, long spentNanos) {
        if (command.leaseMillis() > quorum.longestLeaseMillis()) {
            return CompletableFuture.failedFuture(quorum.tooLong("lease time"));
        }
        long patience = Math.max(0, quorum.commandTimeout().toNanos() - spentNanos);
        return new Acquisition(command, quorum, attempts, releases).start(patience);
    }

    CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        command.names().forEach(turns::ended);
        return command.keepMillis() > quorum.longestLeaseMillis()
                ? CompletableFuture.failedFuture(quorum.tooLong("minimum hold time"))
                : releases.release(command);
    }

    CompletableFuture<HandOverReply> handOver(ReleaseCommand ended, AcquireCommand next) {
        long begin = System.nanoTime();
        boolean mayGoOn = turns.mayGoOn(next.name());
        return releases.release(ended).thenCompose(released -> {
            if (released == ReleaseReply.NOT_HELD) {
                return CompletableFuture.completedFuture(new HandOverReply(false, new AcquireReply.Ended()));
            }
            CompletableFuture<AcquireReply> reply = mayGoOn
                    ? acquire(next, System.nanoTime() - begin)
                    : CompletableFuture.completedFuture(new AcquireReply.Busy(""));
            return reply.whenComplete((answer, failure) -> endTurn(next.name(), answer))
                    .thenApply(answer -> new HandOverReply(true, answer));
        });
    }

    private void endTurn(String name, @Nullable AcquireReply answer) {
        if (!(answer instanceof AcquireReply.Acquired)) {
            turns.ended(name);
        }
    }

    List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        return Renewals.renew(commands, quorum);
    }

    /** Returns for how many attempts something is still to be done at some master. */
    int unsettled() {
        return attempts.size();
    }

    void close() {
        MasterSet.close(quorum.masters(), quorum.commandTimeout());
        quorum.timer().close();
    }
}
