/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockListener;
import io.lockkeeper.LockManager;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One instance of a simulation: the real engine over virtual clocks, a virtual timer and virtual executors. */
final class SimulatedInstance implements Scheduler, Consumer<Runnable> {

    private static final long MILLION = 1_000_000;
    private static final long WALL_MILLIS = 1_700_000_000_000L;
    private static final int BACKGROUND_THREADS = 2;

    /** How long a task waits at most where threads are busy. */
    private static final long BUSY_NANOS = 20_000_000;

    private static final int MANY_THREADS = 1_000_000;

    final int number;
    final SimulatedStore store;
    final LocalLockManager locks;
    final LeaseManager manager;
    private final VirtualTime time;
    private final SimulatedServer server;
    private final SimulatedChance chance;
    private final Consumer<String> fault;
    private final int driftPpm;
    private final int busyPercent;
    private final List<long[]> pauses = new ArrayList<>();
    private final List<long[]> suspensions = new ArrayList<>();
    private final VirtualExecutor background = new VirtualExecutor(BACKGROUND_THREADS);
    private final VirtualExecutor users = new VirtualExecutor(MANY_THREADS);
    private boolean dead;
    private long pausedUntil;
    private long jumpMillis;
    private long mostJumpMillis;
    private long jumpedAt;
    private @Nullable VirtualExecutor running;

    SimulatedInstance(
            int number,
            SimulationPlan plan,
            VirtualTime time,
            SimulatedServer server,
            SimulatedChance chance,
            Consumer<String> fault) {
        this.number = number;
        this.time = time;
        this.server = server;
        this.chance = chance;
        this.fault = fault;
        this.driftPpm = plan.driftPpm().get(number);
        this.busyPercent = plan.isCalm()
                ? 0
                : (int) chance.draw(number, SimulatedChance.CALLER, 0).below(20);
        this.store = new SimulatedStore(this, server, time, chance);
        EngineContext context = new EngineContext(
                this,
                new RetryingExecutor(background, null, this),
                new RetryingExecutor(users, new VirtualExecutor(MANY_THREADS), this),
                new RetryingExecutor(users, new VirtualExecutor(MANY_THREADS), this),
                new Ears(),
                (origin, bound) ->
                        origin + chance.draw(number, SimulatedChance.JITTER, 0).below(bound - origin),
                () -> {});
        LockManager.Settings settings = new LockManager.Settings(
                Duration.ofMillis(plan.leaseMillis()),
                plan.maxPasses(),
                Duration.ofMillis(plan.maxPassMillis()),
                Duration.ofMillis(plan.shutdownMillis()),
                "instance " + number,
                "",
                users,
                context.listener());
        StoredInstance described = new StoredInstance(clientId(), "", "", number, Instant.EPOCH, "");
        this.locks = new LocalLockManager(store, settings, context, described);
        this.manager = new LeaseManager(locks, () -> {}, () -> {});
    }

    /** Returns with what the ids of its attempts begin. */
    String clientId() {
        return "instance000" + number;
    }

    /** Hears what the engine says of acquisitions: each of them begins once, and ends once. */
    private final class Ears implements LockListener {

        private final Set<Long> begun = new HashSet<>();
        private final Set<Long> lost = new HashSet<>();
        private final Set<Long> released = new HashSet<>();

        @Override
        public void onAcquired(Acquired event) {
            once(begun.add(event.acquisition()), event);
        }

        @Override
        public void onLost(Lost event) {
            once(begun.contains(event.acquisition()) && lost.add(event.acquisition()), event);
        }

        @Override
        public void onReleased(Released event) {
            once(begun.contains(event.acquisition()) && released.add(event.acquisition()), event);
        }

        private void once(boolean first, Object event) {
            if (!first) {
                fault.accept("told twice, or of nothing that has begun: " + event);
            }
        }
    }

    // ---- its clocks ----

    @Override
    public long nanoTime() {
        return nanosAt(time.now());
    }

    private long nanosAt(long now) {
        long awake = now;
        for (long[] pause : suspensions) {
            awake -= Math.max(0, Math.min(now, pause[1]) - pause[0]);
        }
        return awake + awake / MILLION * driftPpm + awake % MILLION * driftPpm / MILLION;
    }

    @Override
    public long currentTimeMillis() {
        long now = time.now();
        return WALL_MILLIS + 7_000L * number + jumpMillis + (now + now / MILLION * driftPpm) / MILLION;
    }

    /** Returns the present as clocks say it, or said it before they were set back. */
    ClockReading latest() {
        return new ClockReading(nanoTime(), currentTimeMillis() - jumpMillis + mostJumpMillis);
    }

    void jump(long millis) {
        jumpMillis += millis;
        mostJumpMillis = Math.max(mostJumpMillis, jumpMillis);
        jumpedAt = time.now();
    }

    // ---- whether it runs ----

    boolean isDead() {
        return dead;
    }

    boolean isRunning() {
        return !dead && time.now() >= pausedUntil;
    }

    void die() {
        dead = true;
        store.forget();
    }

    /** Closes the engine, tells when that is done, and ends. */
    void close(Runnable closed) {
        locks.close(null, this).whenComplete((done, failure) -> {
            closed.run();
            die();
        });
    }

    void pause(long millis, boolean suspended) {
        long from = Math.max(time.now(), pausedUntil);
        long until = Math.max(pausedUntil, time.now() + millis * MILLION);
        pauses.add(new long[] {from, until});
        if (suspended) {
            suspensions.add(new long[] {from, until});
        }
        pausedUntil = until;
    }

    /** Returns for how long it has stood still within a time. */
    long pausedBetween(long from, long to) {
        long paused = 0;
        for (long[] pause : pauses) {
            paused += Math.max(0, Math.min(to, pause[1]) - Math.max(from, pause[0]));
        }
        return paused;
    }

    /** Returns for how long all has been well with it, its network and the server. */
    long wellNanos() {
        long wrong = Math.max(Math.max(pausedUntil, jumpedAt), refusedUntil());
        return time.now() - Math.max(wrong, Math.max(store.troubledUntil(), server.troubledUntil()));
    }

    /** Returns until when an executor refuses tasks, or did last. */
    long refusedUntil() {
        return Math.max(background.refusesUntil, users.refusesUntil);
    }

    void refuse(long millis, boolean inBackground) {
        (inBackground ? background : users).refuse(millis);
    }

    /** Lets something happen here, when the instance runs. */
    VirtualTime.Event after(long nanos, Runnable work) {
        return time.at(time.now() + Math.max(0, nanos), work, this);
    }

    @Override
    public void accept(Runnable work) {
        if (dead) {
            return;
        }
        if (time.now() < pausedUntil) {
            time.at(pausedUntil, work, this);
            return;
        }
        try {
            work.run();
        } catch (Throwable error) {
            fault.accept("instance " + number + " let an error escape: " + error);
        }
    }

    @Override
    public Timeout schedule(Runnable task, long delayNanos) {
        Timer timer = new Timer(task, nanoTime() + Math.max(0, delayNanos));
        timer.arm();
        return timer;
    }

    /** A task that waits for its time on the monotonic clock. */
    private final class Timer implements Timeout, Runnable {

        private final Runnable task;
        private final long due;
        private boolean cancelled;
        private VirtualTime.@Nullable Event event;

        Timer(Runnable task, long due) {
            this.task = task;
            this.due = due;
        }

        void arm() {
            long nanos = Math.max(0, due - nanoTime());
            event = after(nanos - nanos / MILLION * driftPpm + 1_000, this);
        }

        @Override
        public void run() {
            if (cancelled) {
                return;
            }
            if (nanoTime() - due < 0) {
                arm();
            } else {
                task.run();
            }
        }

        @Override
        public void cancel() {
            cancelled = true;
            VirtualTime.Event known = event;
            if (known != null) {
                known.cancel();
            }
        }
    }

    /** Returns whether what runs now runs where a user's code may run. */
    boolean runsForUsers() {
        return running != null && running != background;
    }

    /** The task that runs now keeps its thread for a while. */
    void block(long nanos) {
        if (running != null) {
            running.blockNanos = nanos;
        }
    }

    /** Some threads, and the tasks that wait for them. */
    private final class VirtualExecutor implements Executor {

        private final Queue<Runnable> tasks = new ArrayDeque<>();
        private int idle;
        private long refusesUntil;
        private long blockNanos;

        VirtualExecutor(int threads) {
            this.idle = threads;
        }

        void refuse(long millis) {
            refusesUntil = Math.max(refusesUntil, time.now() + millis * MILLION);
        }

        @Override
        public void execute(Runnable task) {
            if (time.now() < refusesUntil) {
                throw new RejectedExecutionException("no thread can be had");
            }
            tasks.add(task);
            start();
        }

        private void start() {
            while (idle > 0 && !tasks.isEmpty()) {
                Runnable task = tasks.remove();
                idle--;
                SimulatedChance.Draw draw = chance.draw(number, SimulatedChance.TASK, 0);
                long most = busyPercent > 0 && draw.percent(busyPercent) ? BUSY_NANOS : 30_000;
                after(500 + draw.below(most), () -> run(task));
            }
        }

        private void run(Runnable task) {
            VirtualExecutor outer = running;
            running = this;
            blockNanos = 0;
            try {
                task.run();
            } finally {
                running = outer;
                if (blockNanos > 0) {
                    after(blockNanos, this::goOn);
                } else {
                    goOn();
                }
            }
        }

        private void goOn() {
            idle++;
            start();
        }
    }
}
