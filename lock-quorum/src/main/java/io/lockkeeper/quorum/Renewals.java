/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.quorum;

import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Renews holds at all masters, those of one master together. */
final class Renewals {

    private Renewals() {}

    static List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands, Quorum quorum) {
        List<RenewCommand> allowed = commands.stream()
                .filter(command -> command.leaseMillis() <= quorum.longestLeaseMillis())
                .toList();
        List<List<CompletableFuture<Boolean>>> answers =
                quorum.masters().stream().map(master -> master.renew(allowed)).toList();
        List<CompletableFuture<Boolean>> decisions = new ArrayList<>(commands.size());
        int sent = 0;
        for (RenewCommand command : commands) {
            if (command.leaseMillis() > quorum.longestLeaseMillis()) {
                StoreException tooLong = quorum.tooLong("lease time");
                decisions.add(CompletableFuture.failedFuture(tooLong));
            } else {
                int position = sent++;
                decisions.add(quorum.decide(
                        answers.stream().map(own -> own.get(position)).toList(), Renewals::outcome));
            }
        }
        return decisions;
    }

    static Optional<Boolean> outcome(Tally<Boolean> tally) {
        if (tally.isCarried(Boolean::booleanValue)) {
            return Optional.of(true);
        }
        return tally.isRefuted(Boolean::booleanValue) ? Optional.of(false) : Optional.empty();
    }
}
