/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.ModelCommand.Acquire;
import io.lockkeeper.memory.ModelCommand.Asker;
import io.lockkeeper.memory.ModelCommand.HandOver;
import io.lockkeeper.memory.ModelCommand.Inspect;
import io.lockkeeper.memory.ModelCommand.Release;
import io.lockkeeper.memory.ModelCommand.Renew;
import io.lockkeeper.memory.ModelCommand.Renewal;
import io.lockkeeper.memory.ModelCommand.Revoke;
import io.lockkeeper.memory.ModelCommand.Step;
import io.lockkeeper.memory.ModelRun.Call;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A sequence for a person: a line for each step, in ms since the first, attempts by the last letter and their number.
 */
final class SequenceText {

    private final List<Step> steps;
    private final long start;

    SequenceText(List<Step> steps) {
        this.steps = steps;
        this.start = steps.get(0).millis();
    }

    @Override
    public String toString() {
        List<Call> calls = new ModelComparison(steps).calls();
        IdentityHashMap<ModelCommand, Integer> first = new IdentityHashMap<>();
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            Integer copied = first.putIfAbsent(step.command(), i);
            String said = i < calls.size() ? calls.get(i).reply() : "";
            lines.add("%2d  %5d.%03d ms  %s%s -> %s"
                    .formatted(
                            i,
                            step.millis() - start,
                            step.micros() % 1_000,
                            copied == null ? "" : "copy of " + copied + ": ",
                            text(step.command()),
                            shorter(said)));
        }
        return lines.stream().collect(Collectors.joining("\n"));
    }

    private String text(ModelCommand command) {
        if (command instanceof Acquire acquire) {
            return "acquire " + text(acquire.asker()) + " sent " + (acquire.sent() - 1_000 * start) + " us notAfter "
                    + (acquire.notAfter() - start);
        } else if (command instanceof Release release) {
            return "release " + text(release.asker()) + " used " + release.used() + " keep " + release.keepMillis();
        } else if (command instanceof HandOver handOver) {
            return "handover " + shorter(handOver.by()) + " used " + handOver.used() + " to " + text(handOver.next())
                    + (handOver.ahead() ? " ahead" : "") + " notAfter " + (handOver.notAfter() - start);
        } else if (command instanceof Renew renew) {
            return "renew " + renew.renewals().stream().map(SequenceText::text).collect(Collectors.joining(", "));
        } else if (command instanceof Revoke revoke) {
            return "revoke " + revoke.name();
        }
        return "inspect " + ((Inspect) command).name();
    }

    private static String text(Asker asker) {
        return "%s %s %s lease %d alive %d grant %d tokens %d"
                .formatted(
                        shorter(asker.id()),
                        asker.mode(),
                        asker.names(),
                        asker.leaseMillis(),
                        asker.aliveMillis(),
                        asker.grantMillis(),
                        asker.tokens());
    }

    private static String text(Renewal renewal) {
        return shorter(renewal.attempt()) + " " + renewal.name() + " lease " + renewal.leaseMillis()
                + (renewal.exact() ? " exact" : "") + (renewal.raise() > 0 ? " raise " + renewal.raise() : "");
    }

    private static String shorter(String attempts) {
        return attempts.replaceAll("client.....([A-E])0+(\\d)", "$1$2");
    }
}
