/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import io.lockkeeper.memory.MemoryRecord.Place;
import io.lockkeeper.memory.MemoryRecord.Reader;
import io.lockkeeper.memory.ModelCommand.Acquire;
import io.lockkeeper.memory.ModelCommand.HandOver;
import io.lockkeeper.memory.ModelCommand.Inspect;
import io.lockkeeper.memory.ModelCommand.Renew;
import io.lockkeeper.memory.ModelCommand.Renewal;
import io.lockkeeper.memory.ModelCommand.Step;
import io.lockkeeper.memory.ModelRun.Call;
import io.lockkeeper.store.ClaimMode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What must be true of a record after every command, whoever is right about the details. */
final class ModelInvariants {

    private ModelInvariants() {}

    /** The state of a record at one moment. */
    record Snapshot(String name, String owner, long ends, long token, Map<String, Reader> readers, List<Place> queue) {

        static Snapshot of(MemoryRecord record) {
            return new Snapshot(
                    record.name,
                    record.owner,
                    record.ends,
                    record.token,
                    new LinkedHashMap<>(record.readers),
                    record.queue.values().stream()
                            .filter(place -> !record.isGone(place))
                            .toList());
        }

        boolean isOwned(long now) {
            return !owner.isEmpty() && ends > now;
        }

        Optional<Long> endOf(String attempt) {
            return owner.equals(attempt)
                    ? Optional.of(ends)
                    : Optional.ofNullable(readers.get(attempt)).map(Reader::until);
        }

        /** Returns how long the key must live beside the tombstone's time. */
        long remaining(long now) {
            long last = readers.values().stream().mapToLong(Reader::until).max().orElse(0);
            return Math.max(0, (owner.isEmpty() ? last : ends) - now);
        }

        /** Returns when the last hold that is over has ended; the present where there is none. */
        long lastLapse(long now) {
            long lapse = owner.isEmpty() || ends > now ? 0 : ends;
            long last = readers.values().stream()
                    .mapToLong(Reader::until)
                    .filter(end -> end <= now)
                    .reduce(lapse, Math::max);
            return last == 0 ? now : last;
        }

        Set<String> holders(long now) {
            Set<String> holders = new HashSet<>();
            readers.forEach((id, reader) -> {
                if (reader.until() > now) {
                    holders.add(id);
                }
            });
            if (isOwned(now)) {
                holders.add(owner);
            }
            return holders;
        }

        boolean isFreeFor(ClaimMode mode, long now) {
            return !isOwned(now) && (mode == ClaimMode.READ || holders(now).isEmpty());
        }

        Optional<Place> head(long now) {
            return queue.stream().filter(place -> place.aliveUntil() >= now).findFirst();
        }
    }

    /** Returns what is wrong after a step; empty: nothing. */
    static Optional<String> check(Step step, Call call, Snapshot before, Snapshot after) {
        List<String> faults = new ArrayList<>();
        exclusion(step, after, faults);
        oneRole(after, faults);
        headIsServed(step, call, before, after, faults);
        noOvertaking(step, before, after, faults);
        othersAreLeftAlone(step, before, after, faults);
        grantsAreTold(step, call, before, after, faults);
        return faults.stream().findFirst().map(fault -> fault + " of lock " + after.name);
    }

    private static void exclusion(Step step, Snapshot after, List<String> faults) {
        if (after.isOwned(step.millis()) && after.holders(step.millis()).size() > 1) {
            faults.add("an exclusive holder beside a reader");
        }
    }

    private static void oneRole(Snapshot after, List<String> faults) {
        Set<String> seen = new HashSet<>(after.readers.keySet());
        if (!after.owner.isEmpty() && !seen.add(after.owner)) {
            faults.add("an owner is a reader too");
        }
        after.queue.forEach(place -> {
            if (!seen.add(place.attempt())) {
                faults.add("an attempt is in two places");
            }
        });
    }

    private static void headIsServed(Step step, Call call, Snapshot before, Snapshot after, List<String> faults) {
        long now = step.millis();
        boolean looked = step.command() instanceof Inspect || step.command() instanceof Renew;
        if (looked || call.limited() || call.reply().startsWith("LATE") || before.equals(after)) {
            return;
        }
        if (after.head(now).filter(head -> after.isFreeFor(head.mode(), now)).isPresent()) {
            faults.add("a live waiter is left at the head of a free queue");
        }
    }

    /** Whoever begins to hold the lock comes after those who were in front of it, unless a hand-over says otherwise. */
    private static void noOvertaking(Step step, Snapshot before, Snapshot after, List<String> faults) {
        long now = step.millis();
        Set<String> begun = after.holders(now);
        begun.removeAll(before.holders(now));
        if (step.command() instanceof HandOver handOver && handOver.ahead()) {
            begun.remove(handOver.next().id());
        }
        Set<String> still = new HashSet<>();
        after.queue.forEach(place -> still.add(place.attempt()));
        // A waiter whose client was forgotten may have come back at once, with this command
        still.removeAll(own(step));
        for (String holder : begun) {
            for (Place place : before.queue) {
                if (place.attempt().equals(holder)) {
                    break;
                }
                if (place.aliveUntil() >= now && still.contains(place.attempt())) {
                    faults.add("a waiter is overtaken");
                }
            }
        }
        List<String> order = new ArrayList<>();
        before.queue.forEach(place -> order.add(place.attempt()));
        order.retainAll(still);
        List<String> later = new ArrayList<>();
        after.queue.forEach(place -> later.add(place.attempt()));
        later.removeAll(own(step));
        if (!later.equals(order)) {
            faults.add("the order of waiters has changed");
        }
    }

    private static void othersAreLeftAlone(Step step, Snapshot before, Snapshot after, List<String> faults) {
        Set<String> own = own(step);
        after.readers.forEach((id, reader) -> {
            Reader old = before.readers.get(id);
            if (old != null && old.until() != reader.until() && !own.contains(id)) {
                faults.add("the end of a reader was moved by somebody else");
            }
        });
        boolean same = after.owner.equals(before.owner) && !after.owner.isEmpty();
        if (same && after.ends != before.ends && !own.contains(after.owner)) {
            faults.add("the end of the owner was moved by somebody else");
        }
    }

    private static void grantsAreTold(Step step, Call call, Snapshot before, Snapshot after, List<String> faults) {
        Set<String> begun = after.holders(step.millis());
        begun.removeAll(before.holders(step.millis()));
        begun.removeAll(own(step));
        for (String holder : begun) {
            if (!call.messages().contains(" grant " + holder + " ")) {
                faults.add("a grant is not told");
            }
        }
    }

    private static Set<String> own(Step step) {
        Set<String> own = new HashSet<>(Set.of(step.command().by()));
        if (step.command() instanceof HandOver handOver) {
            own.add(handOver.next().id());
        } else if (step.command() instanceof Renew renew) {
            renew.renewals().stream().map(Renewal::attempt).forEach(own::add);
        } else if (step.command() instanceof Acquire acquire) {
            own.add(acquire.asker().id());
        }
        return own;
    }
}
