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
import io.lockkeeper.store.ClaimMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Makes a sequence of commands from a seed: of a few clients, with copies at once and late, on a clock that often
 * stands.
 */
final class CommandGenerator {

    private static final List<String> CLIENTS =
            List.of("clientAAAAAA", "clientBBBBBB", "clientCCCCCC", "clientDDDDDD", "clientEEEEEE");
    private static final int MOST_ASKERS = 7;
    private static final long[] LEASES = {20, 100, 100, 500, 3_000, 30_000};
    private static final long[] ALIVE = {0, 0, 30, 200, 1_000, 10_000};
    private static final long[] GRANTS = {5, 20, 100, 500};
    private static final int[] TOKENS = {1, 1, 2, 17, 10_000};

    private final Kind kind;
    private final List<ClaimMode> modes;
    private final Random random;
    private final int clients;
    private final long timeout;
    private final List<Asker> askers = new ArrayList<>();
    private final List<Step> steps = new ArrayList<>();
    private long micros;
    private int number;

    /** What the commands of a sequence ask for. */
    enum Kind {
        EXCLUSIVE(1),
        FAIR(1),
        READ_WRITE(1),
        SEVERAL_NAMES(4),
        MINIMUM_HOLD(1),
        MIX(2);

        private final int names;

        Kind(int names) {
            this.names = names;
        }

        private List<ClaimMode> modes() {
            return switch (this) {
                case EXCLUSIVE -> List.of(ClaimMode.EXCLUSIVE);
                case FAIR -> List.of(ClaimMode.FAIR);
                case READ_WRITE -> List.of(ClaimMode.READ, ClaimMode.READ, ClaimMode.WRITE);
                case SEVERAL_NAMES, MINIMUM_HOLD, MIX -> List.of(ClaimMode.values());
            };
        }
    }

    CommandGenerator(Kind kind, long seed) {
        this.kind = kind;
        // A quarter of the sequences come to the moment at which the last nine digits of the seconds begin anew, by the
        // clock or by the ends of keys.
        long left = (seed % 8 == 0 ? 0 : ModelRun.TOMBSTONE_MILLIS / 1_000) + seed / 8 % 12;
        this.micros = (seed % 4 == 0 ? 2_000_000_000L - left : 1_700_000_000L) * 1_000_000;
        this.modes = kind.modes();
        this.random = new Random(31 * seed + kind.name().hashCode());
        this.clients = 3 + random.nextInt(3);
        this.timeout = pick(new long[] {250, 500, 2_000});
    }

    List<Step> steps(int count) {
        while (steps.size() < count) {
            passTime();
            ModelCommand command = next();
            int copies = random.nextInt(12) == 0 ? 2 + random.nextInt(2) : 1;
            for (int i = 0; i < copies; i++) {
                steps.add(new Step(micros, command));
            }
        }
        return steps;
    }

    private void passTime() {
        int choice = random.nextInt(100);
        if (choice < 35) {
            return;
        }
        micros += choice < 55
                ? 1 + random.nextInt(999)
                : choice < 75
                        ? 1_000L + random.nextInt(9_000)
                        : choice < 91
                                ? 10_000L + random.nextInt(60_000)
                                : choice < 98
                                        ? 70_000L + random.nextInt(400_000)
                                        : 400_000L + random.nextInt(5_000_000);
    }

    private ModelCommand next() {
        int choice = random.nextInt(100);
        if (askers.size() < 2 || (choice < 20 && askers.size() < MOST_ASKERS)) {
            return begin();
        } else if (choice < 36) {
            return acquire(anyAsker());
        } else if (choice < 52 && !steps.isEmpty()) {
            return earlier();
        } else if (choice < 71) {
            return release();
        } else if (choice < 82) {
            return renew();
        } else if (choice < 91 && kind != Kind.SEVERAL_NAMES) {
            return handOver();
        } else if (choice < 94 && kind == Kind.MIX) {
            return new Revoke(anyName());
        } else if (choice < 97) {
            return new Inspect(anyName());
        }
        return begin();
    }

    private Acquire begin() {
        if (askers.size() >= MOST_ASKERS) {
            askers.remove(0);
        }
        Asker asker = new Asker(
                nextId(CLIENTS.get(random.nextInt(clients))),
                names(),
                modes.get(random.nextInt(modes.size())),
                pick(LEASES),
                pick(ALIVE),
                pick(GRANTS),
                TOKENS[random.nextInt(TOKENS.length)]);
        askers.add(asker);
        return acquire(asker);
    }

    private String nextId(String client) {
        number++;
        return client + "0".repeat(8 - Integer.toString(number).length()) + number;
    }

    private List<String> names() {
        List<String> all = IntStream.range(0, kind.names)
                .mapToObj(i -> "" + (char) ('a' + i))
                .toList();
        if (kind.names < 4) {
            return List.of(all.get(random.nextInt(all.size())));
        }
        int set = random.nextInt(1, 16);
        while (Integer.bitCount(set) < 2 && random.nextInt(5) > 0) {
            set = random.nextInt(1, 16);
        }
        int chosen = set;
        return IntStream.range(0, 4)
                .filter(i -> (chosen >> i & 1) == 1)
                .mapToObj(all::get)
                .toList();
    }

    private Acquire acquire(Asker asker) {
        long travelMillis = random.nextInt(10) < 6 ? random.nextInt(3) : random.nextInt((int) (timeout + timeout / 8));
        long travel = travelMillis == 0 ? random.nextInt(3) : travelMillis * 1_000 + random.nextInt(1_000);
        return new Acquire(asker, micros - travel, (micros - travel) / 1_000 + timeout);
    }

    private ModelCommand earlier() {
        int back = random.nextBoolean() ? Math.min(steps.size(), 12) : steps.size();
        ModelCommand command =
                steps.get(steps.size() - 1 - random.nextInt(back)).command();
        return command instanceof Inspect ? acquire(anyAsker()) : command;
    }

    private Release release() {
        Asker asker = anyAsker();
        if (random.nextInt(5) > 0) {
            askers.remove(asker);
        }
        boolean keeps = kind == Kind.MINIMUM_HOLD ? random.nextInt(3) > 0 : kind == Kind.MIX && random.nextInt(5) == 0;
        return new Release(asker, random.nextInt(-1, 4), keeps ? pick(LEASES) / 2 : 0);
    }

    private Renew renew() {
        List<Renewal> renewals = new ArrayList<>();
        int count = kind.names == 1 ? 1 + random.nextInt(2) : 1 + random.nextInt(4);
        for (int i = 0; i < count; i++) {
            Asker asker = anyAsker();
            String name = asker.names().get(random.nextInt(asker.names().size()));
            boolean mix = kind == Kind.MIX;
            renewals.add(new Renewal(
                    asker.id(),
                    name,
                    pick(LEASES),
                    mix && random.nextInt(3) == 0,
                    mix && random.nextInt(4) == 0 ? random.nextInt(1, 3_000) : 0));
        }
        return new Renew(renewals);
    }

    private HandOver handOver() {
        Asker asker = anyAsker();
        boolean ahead = modes.contains(ClaimMode.READ) && random.nextInt(3) == 0;
        Asker next = new Asker(
                nextId(asker.id().substring(0, 12)),
                asker.names(),
                ahead ? ClaimMode.READ : asker.mode(),
                asker.leaseMillis(),
                Math.max(30, asker.aliveMillis()),
                asker.grantMillis(),
                asker.tokens());
        askers.remove(asker);
        askers.add(next);
        return new HandOver(asker, random.nextInt(1, 4), next, micros / 1_000 - random.nextInt(3) + timeout, ahead);
    }

    private Asker anyAsker() {
        return askers.isEmpty() ? begin().asker() : askers.get(random.nextInt(askers.size()));
    }

    private String anyName() {
        return "" + (char) ('a' + random.nextInt(kind.names));
    }

    private long pick(long[] choices) {
        return choices[random.nextInt(choices.length)];
    }
}
