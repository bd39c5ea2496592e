/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.engine.SimulationPlan.Step;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Runs one history: the real engine of several instances, on one virtual clock, on the thread that calls. */
final class Simulation {

    private static final long MILLION = 1_000_000;

    /** How long after the last step everything is over, if all is well. */
    private static final long REST_NANOS = 120_000 * MILLION;

    private final SimulationPlan plan;
    private final long planEnd;
    private final VirtualTime time = new VirtualTime();
    private final SimulatedServer server = new SimulatedServer(time);
    private final SimulationChecker checker;
    private final List<SimulatedInstance> instances = new ArrayList<>();
    private final Map<Integer, SimulatedCaller> callers = new HashMap<>();
    private final Set<String> names = Set.of("a", "b", "c");

    /**
     * What came of a history.
     *
     * @param faults what was wrong
     * @param events how much happened
     * @param print what must be the same whenever the plan is run again
     */
    record Outcome(List<String> faults, long events, long print) {

        boolean isGood() {
            return faults.isEmpty();
        }
    }

    private Simulation(SimulationPlan plan) {
        this.plan = plan;
        this.planEnd = plan.end() * 1_000;
        this.checker = new SimulationChecker(plan, time, server);
    }

    static Outcome run(SimulationPlan plan) {
        Simulation simulation = new Simulation(plan);
        return SimulationLog.hearing(simulation.checker::fault, simulation::run);
    }

    /**
     * Runs histories one after the other until one fails, or this thread has used up some time of its processor;
     * returns what failed, shrunk; null: nothing.
     */
    static @Nullable String search(long firstSeed, long histories, long nanos) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + nanos;
        for (long seed = firstSeed; seed < firstSeed + histories && threads.getCurrentThreadCpuTime() < end; seed++) {
            Optional<String> failure = failure(seed);
            if (failure.isPresent()) {
                return failure.get();
            }
        }
        return null;
    }

    /** Runs the plan of a seed; where it fails, what was wrong and the least plan that fails. */
    static Optional<String> failure(long seed) {
        SimulationPlan plan = SimulationPlan.of(seed);
        Outcome outcome = run(plan);
        if (outcome.isGood()) {
            return Optional.empty();
        }
        SimulationPlan least = shrink(plan);
        return Optional.of("Seed " + seed + ": " + outcome.faults().get(0) + "\nShrunk to "
                + least.steps().size() + " steps: "
                + String.join("\n  ", run(least).faults()) + "\n" + least);
    }

    /** Takes steps out as long as it still fails: large pieces first, then one by one. */
    static SimulationPlan shrink(SimulationPlan failing) {
        List<Step> least = failing.steps();
        int piece = Math.max(1, least.size() / 2);
        while (true) {
            int size = least.size();
            for (int from = least.size() - piece; from > -piece; from -= piece) {
                List<Step> shorter = new ArrayList<>(least.subList(0, Math.max(0, from)));
                shorter.addAll(least.subList(Math.min(least.size(), from + piece), least.size()));
                if (shorter.size() < least.size() && !run(failing.with(shorter)).isGood()) {
                    least = shorter;
                }
            }
            if (piece == 1 && least.size() == size) {
                return failing.with(List.copyOf(least));
            }
            piece = Math.max(1, piece / 2);
        }
    }

    private Outcome run() {
        SimulatedChance chance = new SimulatedChance(plan.seed());
        for (int number = 0; number < plan.instances(); number++) {
            instances.add(new SimulatedInstance(number, plan, time, server, chance, checker::fault));
        }
        for (Step step : plan.steps()) {
            if (step instanceof SimulationPlan.Failover failover) {
                time.at(step.at() * 1_000 - failover.lostMillis() * MILLION, server::replicate);
            }
            time.at(step.at() * 1_000, () -> happen(step));
        }
        boolean drained = runUntil(planEnd + REST_NANOS);
        time.moveTo(time.now() + leftoverNanos());
        checker.look();
        checker.atTheEnd(instances, drained);
        time.moveTo(time.now() + plan.leaseMillis() * 3 / 2 * MILLION);
        checker.afterAWhile(instances);
        return new Outcome(checker.faults(), time.ran(), time.now());
    }

    /**
     * Returns how long something may be left at the server that nobody wants: what a late copy of a command took, for
     * as long as the command timeout. Where writes were lost, or the server's clock was set, by which a late copy is
     * known: as long as places last, and what waits with the first of several locks, and for as long as that clock was
     * set back. So does what a copy of a hand-over took after a copy of the acquisition, and a place that a copy of a
     * question took after the release (guarantees.md, 4).
     */
    private long leftoverNanos() {
        boolean known = !plan.has(SimulationPlan.ServerStep.class)
                && !plan.has(SimulationPlan.Failover.class)
                && !server.handedOverAgain
                && !server.placedAgain;
        long setBack = plan.steps().stream()
                .mapToLong(step -> step instanceof SimulationPlan.ServerStep set ? Math.max(0, -set.millis()) : 0)
                .sum();
        return ((known ? 2_000 : plan.leaseMillis() * 2) + setBack + 300) * MILLION;
    }

    /** Returns whether nothing is left to happen. */
    private boolean runUntil(long end) {
        while (checker.faults().isEmpty() && time.step(end)) {
            // The next one.
        }
        return time.isOver();
    }

    private void happen(Step step) {
        if (step instanceof SimulationPlan.Ask ask) {
            SimulatedInstance instance = instances.get(ask.instance());
            SimulatedCaller caller = new SimulatedCaller(ask, instance, planEnd, time, checker);
            callers.put(ask.id(), caller);
            instance.after(0, caller::begin);
        } else if (step instanceof SimulationPlan.Cancel cancel) {
            caller(cancel.id(), SimulatedCaller::cancel);
        } else if (step instanceof SimulationPlan.Extend extend) {
            caller(extend.id(), caller -> caller.extend(extend.millis()));
        } else if (step instanceof SimulationPlan.Downgrade downgrade) {
            caller(downgrade.id(), SimulatedCaller::downgrade);
        } else if (step instanceof SimulationPlan.Reenter again) {
            caller(again.id(), caller -> caller.reenter(again.leaseMillis(), again.holdMicros()));
        } else if (step instanceof SimulationPlan.Look) {
            checker.look();
        } else {
            goWrong(step);
        }
    }

    private void caller(int id, Consumer<SimulatedCaller> act) {
        SimulatedCaller caller = callers.get(id);
        if (caller != null) {
            caller.instance.after(0, () -> act.accept(caller));
        }
    }

    private void goWrong(Step step) {
        if (step instanceof SimulationPlan.Pause pause) {
            instances.get(pause.instance()).pause(pause.millis(), pause.suspended());
        } else if (step instanceof SimulationPlan.Die die) {
            instances.get(die.instance()).die();
        } else if (step instanceof SimulationPlan.Close close) {
            SimulatedInstance closing = instances.get(close.instance());
            closing.after(0, () -> closing.close(() -> checker.closed(closing)));
        } else if (step instanceof SimulationPlan.Jump jump) {
            instances.get(jump.instance()).jump(jump.millis());
        } else if (step instanceof SimulationPlan.Refuse refuse) {
            instances.get(refuse.instance()).refuse(refuse.millis(), refuse.background());
        } else if (step instanceof SimulationPlan.Trouble trouble) {
            instances
                    .get(trouble.instance())
                    .store
                    .trouble(trouble.millis(), trouble.lossPercent(), trouble.doublePercent(), trouble.delayMillis());
        } else if (step instanceof SimulationPlan.Cut cut) {
            instances.get(cut.instance()).store.cut(cut.millis());
        } else if (step instanceof SimulationPlan.ServerPause pause) {
            server.pause(pause.millis());
        } else if (step instanceof SimulationPlan.Failover failover) {
            failOver(failover);
        } else if (step instanceof SimulationPlan.ServerStep jump) {
            checker.taint(names);
            server.step(jump.millis());
        } else if (step instanceof SimulationPlan.Revoke revoke) {
            checker.taint(Set.of(revoke.name()));
            server.records.revoke(revoke.name(), server.micros());
        }
    }

    private void failOver(SimulationPlan.Failover failover) {
        Set<String> changed = server.failOver(failover.downMillis());
        if (failover.lostMillis() > 0) {
            checker.taint(changed);
        }
        instances.forEach(instance -> instance.store.cut(failover.downMillis()));
    }
}
