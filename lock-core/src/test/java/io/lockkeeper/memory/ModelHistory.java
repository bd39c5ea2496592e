/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryRecord.Reader;
import io.lockkeeper.memory.ModelCommand.Acquire;
import io.lockkeeper.memory.ModelCommand.Asker;
import io.lockkeeper.memory.ModelCommand.HandOver;
import io.lockkeeper.memory.ModelCommand.Release;
import io.lockkeeper.memory.ModelCommand.Renew;
import io.lockkeeper.memory.ModelCommand.Revoke;
import io.lockkeeper.memory.ModelCommand.Step;
import io.lockkeeper.memory.ModelInvariants.Snapshot;
import io.lockkeeper.memory.ModelRun.Call;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** What must be true of a whole sequence: tokens rise, and no late copy of a command outlives its last moment. */
final class ModelHistory {

    private final Function<String, Asker> askers;
    private final Map<String, Long> highestTokens = new HashMap<>();
    private final Map<String, Long> endings = new HashMap<>();

    ModelHistory(Function<String, Asker> askers) {
        this.askers = askers;
    }

    /** Returns what is wrong after a step; empty: nothing. */
    Optional<String> check(Step step, Call call, List<Snapshot> before, List<Snapshot> after) {
        Optional<String> fault = Optional.empty();
        if (step.command() instanceof Acquire acquire) {
            before.forEach(record -> noteLapse(acquire.by(), record, step.millis()));
            fault = lateCopy(acquire, before, after);
        }
        for (int i = 0; i < after.size(); i++) {
            noteEndings(step, call, before.get(i), after.get(i));
            Optional<String> tokenFault = tokens(step, call, before.get(i), after.get(i));
            fault = fault.or(() -> tokenFault);
        }
        return fault;
    }

    private void noteLapse(String attempt, Snapshot record, long now) {
        record.endOf(attempt).filter(end -> end <= now).ifPresent(end -> endings.putIfAbsent(attempt, end * 1_000));
    }

    private Optional<String> lateCopy(Acquire copy, List<Snapshot> before, List<Snapshot> after) {
        Long ending = endings.get(copy.by());
        if (ending == null) {
            return Optional.empty();
        }
        if (copy.sent() > ending) {
            endings.remove(copy.by());
            return Optional.empty();
        }
        for (int i = 0; i < after.size(); i++) {
            long end = after.get(i).endOf(copy.by()).orElse(0L);
            if (end > copy.notAfter() && end > before.get(i).endOf(copy.by()).orElse(0L)) {
                return Optional.of("a late copy holds beyond its last moment of lock "
                        + after.get(i).name());
            }
        }
        return Optional.empty();
    }

    private void noteEndings(Step step, Call call, Snapshot before, Snapshot after) {
        long now = step.micros();
        String by = step.command().by();
        if (step.command() instanceof Acquire && call.reply().startsWith("BUSY")) {
            endings.putIfAbsent(by, now);
        }
        boolean ends = step.command() instanceof Release || step.command() instanceof HandOver;
        if (ends && hasPart(before, by) && !before.equals(after)) {
            // The hold of a reader that has lapsed ended then.
            Reader reader = before.readers().get(by);
            endings.put(by, reader == null ? now : Math.min(now, reader.until() * 1_000));
        }
        if (step.command() instanceof Revoke && !before.equals(after)) {
            before.holders(step.millis()).forEach(holder -> endings.put(holder, now));
        }
        before.queue().stream()
                .filter(waiter -> !waiter.attempt().equals(by) && !hasPart(after, waiter.attempt()))
                .forEach(waiter -> endings.putIfAbsent(
                        waiter.attempt(),
                        Math.min(waiter.aliveUntil() * 1_000 + 999, before.lastLapse(step.millis()) * 1_000)));
    }

    private static boolean hasPart(Snapshot record, String attempt) {
        return record.endOf(attempt).isPresent()
                || record.queue().stream().anyMatch(place -> place.attempt().equals(attempt));
    }

    private Optional<String> tokens(Step step, Call call, Snapshot before, Snapshot after) {
        boolean ending = step.command().by().equals(before.owner())
                && (step.command() instanceof Release || step.command() instanceof HandOver);
        boolean same = before.owner().equals(after.owner());
        boolean again = same && after.token() != before.token() && !ending && !(step.command() instanceof Renew);
        if (!before.owner().isEmpty() && (!same || again)) {
            highestTokens.merge(before.name(), ending ? used(step, call, before) : before.token(), Math::max);
        }
        if (after.owner().isEmpty() || (same && !again)) {
            return Optional.empty();
        }
        long first = after.token() - askers.apply(after.owner()).tokens() + 1;
        return first > highestTokens.getOrDefault(after.name(), 0L)
                ? Optional.empty()
                : Optional.of("a fencing token does not rise: that of lock " + after.name());
    }

    /** Returns the last token that an owner used: what it says, where that is of this hold; else all that it has. */
    private long used(Step step, Call call, Snapshot before) {
        // In the argument of a hand-over this stands behind what is asked for, and the attempt.
        int at = step.command() instanceof HandOver ? 94 : 20;
        long last = Long.parseLong(call.arguments().get(0).substring(at, at + 16));
        long first = before.token() - askers.apply(before.owner()).tokens() + 1;
        boolean own = step.command().names().get(0).equals(before.name());
        return own && last >= first - 1 && last <= before.token() ? last : before.token();
    }
}
