/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * What happens to the instances of one history, as data: made from a seed, and shorter by any step that a failure does
 * not need.
 *
 * @param seed from which everything is drawn that is no step: delays, the order of what happens at the same time
 * @param instances how many instances there are
 * @param leaseMillis the lease time of all of them
 * @param maxPasses how often a hold passes locally while others wait
 * @param maxPassMillis how long it may stay
 * @param driftPpm how much faster the clock of each instance is than that of the server
 * @param steps what happens, in the order of time
 */
record SimulationPlan(
        long seed,
        int instances,
        long leaseMillis,
        int maxPasses,
        long maxPassMillis,
        List<Integer> driftPpm,
        List<Step> steps) {

    private static final List<LockMode> OTHER_MODES = List.of(LockMode.FAIR, LockMode.READ, LockMode.WRITE);
    private static final List<OnLoss> LOSSES = List.of(OnLoss.values());

    static final long WITHOUT_LIMIT = -1;
    private static final int LEAST_STEPS = 100;
    private static final List<String> NAMES = List.of("a", "b", "c");

    /** Something that happens at a given time, in microseconds. */
    sealed interface Step {
        long at();
    }

    /** What a caller does when it hears of a loss. */
    enum OnLoss {
        NOTHING,
        BLOCK,
        THROW
    }

    /**
     * A caller asks for a lock, and holds it for a while.
     *
     * @param id its number
     * @param waitMillis how long it waits
     * @param fixedMillis its fixed lease; 0: renewed
     * @param retries its further tries
     * @param minHoldMillis its minimum hold
     * @param holdMicros how long it holds the lock; {@link #WITHOUT_LIMIT}: until all is over
     */
    record Ask(
            long at,
            int instance,
            int id,
            List<String> names,
            LockMode mode,
            long waitMillis,
            long fixedMillis,
            int retries,
            long minHoldMillis,
            long holdMicros,
            OnLoss onLoss)
            implements Step {

        /** Returns whether the caller locks for a fixed time and leaves it at that. */
        boolean forgetsToUnlock() {
            return fixedMillis > 0 && names.size() == 1 && id % 3 == 0 && holdMicros != WITHOUT_LIMIT;
        }

        /**
         * Returns whether a thread waits for the lock, which ends its wait itself, and is interrupted instead of
         * cancelled.
         */
        boolean blocks() {
            return id % 4 == 1 && retries == 0;
        }
    }

    /** A caller does not want the lock any more, or is interrupted, if it has no answer yet. */
    record Cancel(long at, int id) implements Step {}

    /** A holder gives its lease another end. */
    record Extend(long at, int id, long millis) implements Step {}

    /** A holder enters its lock again for a while, with a lease time or without (0). */
    record Reenter(long at, int id, long leaseMillis, long holdMicros) implements Step {}

    /** An exclusive holder goes on as a reader. */
    record Downgrade(long at, int id) implements Step {}

    /** Every holder looks at its lease. */
    record Look(long at) implements Step {}

    /** An instance stands still; its monotonic clock, too, where its machine is suspended. */
    record Pause(long at, int instance, long millis, boolean suspended) implements Step {}

    /** An instance ends without a word. */
    record Die(long at, int instance) implements Step {}

    /** An instance closes, and asks and holds nothing any more. */
    record Close(long at, int instance) implements Step {}

    /** The wall clock of an instance jumps. */
    record Jump(long at, int instance, long millis) implements Step {}

    /** The executors of an instance refuse all tasks for a while. */
    record Refuse(long at, int instance, long millis, boolean background) implements Step {}

    /** The network of an instance loses and doubles commands, replies and messages, and delays them. */
    record Trouble(long at, int instance, long millis, int lossPercent, int doublePercent, int delayMillis)
            implements Step {}

    /** The connections of an instance are cut, and come back after a while. */
    record Cut(long at, int instance, long millis) implements Step {}

    /** The server stands still. */
    record ServerPause(long at, long millis) implements Step {}

    /** The server is down for a while, and has lost its last writes. */
    record Failover(long at, long downMillis, long lostMillis) implements Step {}

    /** The server's clock is set. */
    record ServerStep(long at, long millis) implements Step {}

    /** A lock is taken away from its holders. */
    record Revoke(long at, String name) implements Step {}

    /** Returns the plan of a seed. */
    static SimulationPlan of(long seed) {
        return new Generator(seed).plan();
    }

    SimulationPlan with(List<Step> fewer) {
        return new SimulationPlan(seed, instances, leaseMillis, maxPasses, maxPassMillis, driftPpm, fewer);
    }

    /** Returns how long the instances wait for their holders when they close. */
    long shutdownMillis() {
        return seed % 2 == 0 ? 0 : leaseMillis / 2;
    }

    /** Returns whether any step is of a given kind. */
    boolean has(Class<? extends Step> kind) {
        return steps.stream().anyMatch(kind::isInstance);
    }

    /** Returns whether nothing but callers is in it, who do what is usual. */
    boolean isCalm() {
        return steps.stream()
                .allMatch(step -> step instanceof Ask
                        || step instanceof Cancel
                        || step instanceof Look
                        || step instanceof Downgrade
                        || step instanceof Reenter
                        || step instanceof Extend);
    }

    /** Returns whether every command is answered, and soon. */
    boolean isPunctual() {
        return steps.stream()
                .noneMatch(step -> step instanceof Trouble
                        || step instanceof Cut
                        || step instanceof Pause
                        || step instanceof Refuse
                        || step instanceof ServerPause
                        || step instanceof Failover
                        || step instanceof ServerStep);
    }

    /** Returns whether something is in it for which mutual exclusion is not promised. */
    boolean isOutside() {
        return has(Failover.class) || has(ServerStep.class) || has(Revoke.class);
    }

    /** Returns when the last step is over, in microseconds. */
    long end() {
        return steps.stream().mapToLong(SimulationPlan::end).max().orElse(0);
    }

    private static long end(Step step) {
        long millis = 0;
        if (step instanceof Pause pause) {
            millis = pause.millis();
        } else if (step instanceof Refuse refuse) {
            millis = refuse.millis();
        } else if (step instanceof Trouble trouble) {
            millis = trouble.millis();
        } else if (step instanceof Cut cut) {
            millis = cut.millis();
        } else if (step instanceof ServerPause pause) {
            millis = pause.millis();
        } else if (step instanceof Failover failover) {
            millis = failover.downMillis();
        }
        return step.at() + millis * 1_000;
    }

    @Override
    public String toString() {
        return "seed " + seed + ", " + instances + " instances, lease " + leaseMillis + " ms, " + maxPasses
                + " passes in "
                + maxPassMillis + " ms, drift " + driftPpm + " ppm"
                + steps.stream().map(step -> "\n  " + step).collect(Collectors.joining());
    }

    /** Draws a plan. */
    private static final class Generator {

        private final long seed;
        private final SplittableRandom random;
        private final List<Step> steps = new ArrayList<>();
        private final int instances;
        private final List<String> names;
        private final long leaseMillis;
        private final int faultPercent;
        private final boolean outside;
        private final boolean losesWrites;
        private final boolean suspends;
        private final boolean plainOnly;
        private final int readPercent;
        private final int longHoldPercent;
        private int troubled = -1;
        private long at;
        private int asks;

        Generator(long seed) {
            this.seed = seed;
            this.random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 1);
            this.instances = between(2, 5);
            this.names = NAMES.subList(0, between(1, 4));
            this.leaseMillis = pick(2_000, 3_000, 6_000, 10_000);
            int weather = between(0, 10);
            this.faultPercent = weather < 3 ? 0 : weather < 6 ? 5 : 15;
            this.outside = weather >= 8;
            this.losesWrites = random.nextBoolean();
            this.suspends = random.nextBoolean();
            this.plainOnly = percent(25);
            this.readPercent = pick(0, 0, 40, 80);
            this.longHoldPercent = pick(1, 5, 20);
        }

        SimulationPlan plan() {
            int length = LEAST_STEPS + between(0, 20);
            while (steps.size() < length) {
                at += percent(70)
                        ? between(1, percent(50) ? 300 : 4_000)
                        : percent(85) ? between(1_000, 150_000) : between(0, 2_000_000);
                steps.add(percent(faultPercent) ? fault() : percent(75) || asks == 0 ? ask() : act());
            }
            List<Integer> drift = new ArrayList<>();
            for (int i = 0; i < instances; i++) {
                drift.add(percent(50) ? 0 : percent(70) ? between(-500, 500) : between(-9_000, 9_000));
            }
            SimulationPlan plan = new SimulationPlan(
                    seed, instances, leaseMillis, pick(0, 1, 2, 16), pick(0, 5, 50), drift, List.copyOf(steps));
            SimulationPlan all = faultPercent > 0 && percent(20) ? plan.with(disturbed()) : plan;
            return percent(20) ? all.with(closed(all.steps())) : all;
        }

        /** Returns the steps with the end of an instance just after a caller of it has asked. */
        private List<Step> closed(List<Step> open) {
            List<Ask> questions = open.stream()
                    .filter(Ask.class::isInstance)
                    .map(Ask.class::cast)
                    .toList();
            Ask last = questions.get(between(0, questions.size()));
            List<Step> all = new ArrayList<>(open);
            all.add(new Close(last.at() + between(0, 2_000), last.instance()));
            all.sort(Comparator.comparingLong(Step::at));
            return List.copyOf(all);
        }

        /** Returns the steps with more pauses, cuts and jumps of the clock between them, which are rare otherwise. */
        private List<Step> disturbed() {
            List<Step> all = new ArrayList<>(steps);
            for (int i = between(2, 8); i > 0; i--) {
                long when = random.nextLong(at + 1);
                int instance = between(0, instances);
                int kind = between(0, 4);
                if (kind == 3) {
                    all.add(new Cut(when, instance, percent(33) ? 0 : between(0, 6_000)));
                } else if (kind == 2 || suspends) {
                    all.add(new Pause(
                            when, instance, between(1, (int) leaseMillis * 3 / 2), suspends && random.nextBoolean()));
                } else {
                    int farthest = kind == 0 ? 10_000 : 300;
                    all.add(new Jump(when, instance, between(-farthest, farthest)));
                }
            }
            all.sort(Comparator.comparingLong(Step::at));
            return List.copyOf(all);
        }

        private Step ask() {
            LockMode mode = plainOnly || percent(50)
                    ? LockMode.EXCLUSIVE
                    : percent(readPercent) ? LockMode.READ : OTHER_MODES.get(between(0, 3));
            List<String> wanted = names.size() > 1 && percent(8) ? names.subList(0, 2) : List.of(pickName());
            boolean plain = plainOnly || percent(80);
            long wait = percent(10) ? 0 : percent(50) ? WITHOUT_LIMIT : between(5, 3_000);
            long hold = percent(longHoldPercent)
                    ? (percent(10) ? WITHOUT_LIMIT : between(1, 5_000_000))
                    : percent(50) ? between(0, 500) : between(0, 40_000);
            int kind = plain ? 9 : between(0, 10);
            return new Ask(
                    at,
                    between(0, instances),
                    asks++,
                    wanted,
                    mode,
                    wait,
                    kind < 4 ? between(100, 2_500) : 0,
                    kind == 4 ? between(1, 4) : 0,
                    kind == 5 || kind == 6 ? between(1, 300) : 0,
                    hold,
                    LOSSES.get(percent(70) ? 0 : between(0, 3)));
        }

        private Step act() {
            int id = asks - 1 - between(0, Math.min(asks, 8));
            int kind = between(0, 10);
            return kind < 5
                    ? new Cancel(at, id)
                    : kind == 5
                            ? new Extend(at, id, between(100, 4_000))
                            : kind < 8 ? new Downgrade(at, id) : kind == 8 ? new Look(at) : reenter(id);
        }

        private Step reenter(int id) {
            return new Reenter(at, id, percent(50) ? 0 : between(100, 4_000), between(0, 100_000));
        }

        private Step fault() {
            if (troubled >= 0 && percent(40)) {
                int cut = troubled;
                troubled = -1;
                return new Cut(at, cut, between((int) leaseMillis / 3, (int) leaseMillis));
            }
            int instance = between(0, instances);
            int kind = between(0, outside ? 24 : 18);
            if (kind < 6) {
                troubled = instance;
                return new Trouble(
                        at,
                        instance,
                        between(1, 3_000),
                        percent(50) ? 0 : percent(70) ? between(1, 60) : 100,
                        percent(50) ? 0 : between(1, 60),
                        percent(50) ? 1 : between(1, 4_000));
            } else if (kind < 9) {
                return new Pause(at, instance, percent(50) ? between(1, 300) : between(300, 8_000), suspends);
            } else if (kind < 11) {
                return new Cut(at, instance, percent(30) ? 0 : between(0, percent(70) ? 2_000 : 10_000));
            } else if (kind < 13) {
                return suspends
                        ? new Pause(at, instance, between(1, 6_000), true)
                        : new Jump(at, instance, between(-20_000, 20_000));
            } else if (kind < 15) {
                return new Refuse(at, instance, between(1, 1_000), random.nextBoolean());
            } else if (kind == 15) {
                return new ServerPause(at, percent(50) ? between(1, 300) : between(300, 5_000));
            } else if (kind == 16) {
                return percent(50) ? new Die(at, instance) : new Failover(at, between(0, 1_500), 0);
            } else if (kind == 17) {
                return percent(50) ? new Cut(at, instance, between(0, 100)) : new Close(at, instance);
            } else if (kind < 20) {
                return new Revoke(at, pickName());
            }
            // Not both in one history: tokens rise with the server's clock, or with its last token.
            return losesWrites
                    ? new Failover(at, between(0, 1_500), between(1, 2_000))
                    : new ServerStep(at, between(-3_000, 3_000));
        }

        private String pickName() {
            return names.get(between(0, names.size()));
        }

        private int pick(int... choices) {
            return choices[between(0, choices.length)];
        }

        private int between(int least, int bound) {
            return random.nextInt(least, bound);
        }

        private boolean percent(int percent) {
            return random.nextInt(100) < percent;
        }
    }
}
