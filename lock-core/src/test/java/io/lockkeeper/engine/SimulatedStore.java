/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.redis.SimulatedServerClock;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.HandOverCommand;
import io.lockkeeper.store.HandOverReply;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.ReleaseCommand;
import io.lockkeeper.store.ReleaseReply;
import io.lockkeeper.store.RenewCommand;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** The store of one instance, as the Redis store is: over a network that delays, doubles and loses. */
final class SimulatedStore implements LockStore {

    private static final int MOST_SENDS = 5;
    private static final long MILLION = 1_000_000;
    private static final long USUAL_NANOS = 400_000;
    private static final long SLOW_NANOS = 400 * MILLION;

    /** As a driver says of a command that it sent twice: the first copy may have ended the hold. */
    private static final String RAN_BEFORE = "nobody knows whether the first copy ended the hold";

    private final SimulatedInstance instance;
    private final SimulatedServer server;
    private final VirtualTime time;
    private final SimulatedChance chance;
    private final SimulatedServerClock clock;
    private final List<Sent<?>> open = new ArrayList<>();
    private StoreTraits traits = new StoreTraits(Duration.ZERO, Duration.ZERO, Duration.ZERO, true);
    private @Nullable StoreListener listener;
    private long troubleUntil;
    private int lossPercent;
    private int doublePercent;
    private long delayNanos;
    private long cutUntil = -1;
    private int connection;

    /** When questions were answered, and until when one was last under way that had waited for long. */
    private final Set<String> released = new HashSet<>();

    private final List<Long> heard = new ArrayList<>();

    private long slowUntil = -1;
    int acquires;
    int handOvers;
    int releases;
    int renewals;

    SimulatedStore(SimulatedInstance instance, SimulatedServer server, VirtualTime time, SimulatedChance chance) {
        this.instance = instance;
        this.server = server;
        this.time = time;
        this.chance = chance;
        this.clock = new SimulatedServerClock(instance::nanoTime);
    }

    StoreTraits traits() {
        return traits;
    }

    // ---- what is wrong with the network ----

    void trouble(long millis, int losses, int doubles, long delayMillis) {
        troubleUntil = time.now() + millis * MILLION;
        lossPercent = losses;
        doublePercent = doubles;
        delayNanos = delayMillis * MILLION;
    }

    /** All connections are cut, and come back after a while. */
    void cut(long millis) {
        cutUntil = Math.max(cutUntil, time.now() + millis * MILLION);
        connection++;
        for (Sent<?> sent : List.copyOf(open)) {
            instance.after(USUAL_NANOS, () -> sent.fail("the connection was cut"));
        }
        time.at(cutUntil + MILLION, this::restore);
    }

    private void restore() {
        StoreListener known = listener;
        if (time.now() > cutUntil && known != null) {
            instance.after(USUAL_NANOS, known::channelRestored);
        }
    }

    boolean isCut() {
        return time.now() <= cutUntil;
    }

    private boolean isTroubled() {
        return time.now() < troubleUntil;
    }

    private boolean isLost(SimulatedChance.Draw draw) {
        return isTroubled() && draw.percent(lossPercent);
    }

    private boolean isDoubled(SimulatedChance.Draw draw) {
        return isTroubled() && draw.percent(doublePercent);
    }

    private long delay(SimulatedChance.Draw draw) {
        return 20_000 + draw.below(isTroubled() && draw.percent(50) ? delayNanos : USUAL_NANOS);
    }

    /** Returns until when something is wrong with the network, or was last. */
    long troubledUntil() {
        return Math.max(troubleUntil, cutUntil + MILLION);
    }

    /** Returns whether a question was answered within a time, and none has waited for long since then. */
    boolean hasAnswered(long from, long to) {
        return slowUntil < to
                && open.stream().noneMatch(Sent::isSlow)
                && heard.stream().anyMatch(at -> at >= from && at <= to);
    }

    void forget() {
        open.clear();
    }

    // ---- commands ----

    @Override
    public StoreTraits open(StoredInstance described, Duration leaseTime, StoreListener told) {
        traits = new StoreTraits(
                min(Duration.ofSeconds(2), leaseTime.dividedBy(3)),
                min(Duration.ofSeconds(5), leaseTime.dividedBy(2)),
                min(Duration.ofSeconds(3), leaseTime.dividedBy(2)),
                true);
        listener = told;
        server.join(described.clientId(), this);
        clock.told(server.micros());
        return traits;
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
        acquires++;
        return inTime(
                SimulatedChance.ACQUIRE,
                command.name(),
                sent -> micros -> {
                    server.arrived(command.attempt());
                    Optional<AcquireReply> reply = server.records.acquire(command, traits, sent, micros);
                    server.placedAgain |= released.contains(command.attempt())
                            && reply.filter(AcquireReply.Queued.class::isInstance)
                                    .isPresent();
                    return reply;
                },
                MOST_SENDS);
    }

    @Override
    public CompletableFuture<HandOverReply> handOver(HandOverCommand command) {
        handOvers++;
        int[] runs = new int[1];
        return inTime(
                SimulatedChance.HAND_OVER,
                command.next().name(),
                sent -> micros -> {
                    server.arrived(command.next().attempt());
                    boolean again = runs[0]++ > 0;
                    server.handedOverAgain |= again;
                    Optional<HandOverReply> reply = server.records.handOver(command, traits, sent, micros);
                    if (!command.ahead()) {
                        reply.ifPresent(told -> server.ends(command.attempt(), told.wasHeld()));
                    }
                    if (again && reply.isPresent() && !reply.get().wasHeld()) {
                        throw new Failure(RAN_BEFORE);
                    }
                    return reply;
                },
                MOST_SENDS);
    }

    private <T> CompletableFuture<T> inTime(
            int kind, String name, LongFunction<LongFunction<Optional<T>>> script, int sends) {
        LongFunction<Optional<T>> sent = script.apply(clock.micros());
        return this.<Optional<T>>send(kind, name, sent).thenCompose(reply -> {
            if (reply.isPresent()) {
                heard.add(time.now());
                return CompletableFuture.completedFuture(reply.get());
            }
            slowUntil = time.now() + traits.commandTimeout().toNanos();
            return sends > 1
                    ? inTime(kind, name, script, sends - 1)
                    : CompletableFuture.failedFuture(new Failure("the commands come too late"));
        });
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseCommand command) {
        releases++;
        int[] runs = new int[1];
        return send(SimulatedChance.RELEASE, command.names().get(0), micros -> {
            released.add(command.attempt());
            ReleaseReply reply = server.records.release(command, micros);
            if (reply == ReleaseReply.RELEASED || reply == ReleaseReply.NOT_HELD) {
                server.ends(command.attempt(), reply == ReleaseReply.RELEASED);
            }
            if (runs[0]++ > 0 && reply == ReleaseReply.NOT_HELD) {
                throw new Failure(RAN_BEFORE);
            }
            return reply;
        });
    }

    @Override
    public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
        renewals++;
        String first = commands.stream()
                .map(RenewCommand::name)
                .min(Comparator.naturalOrder())
                .orElseThrow();
        CompletableFuture<List<Boolean>> together =
                send(SimulatedChance.RENEW, first, micros -> server.records.renew(commands, micros));
        List<CompletableFuture<Boolean>> answers = new ArrayList<>(commands.size());
        for (int i = 0; i < commands.size(); i++) {
            int place = i;
            answers.add(together.thenApply(all -> all.get(place)));
        }
        return answers;
    }

    @Override
    public CompletableFuture<Optional<StoredLock>> inspect(String name) {
        return send(SimulatedChance.LOOK, name, micros -> server.records.inspect(name, micros));
    }

    @Override
    public CompletableFuture<List<String>> find(String pattern, int limit) {
        throw new UnsupportedOperationException("Nobody looks");
    }

    @Override
    public CompletableFuture<List<StoredInstance>> instances(List<String> clientIds) {
        return send(SimulatedChance.LOOK, "", micros -> List.of());
    }

    @Override
    public CompletableFuture<Boolean> revoke(String name) {
        throw new UnsupportedOperationException("The simulation revokes");
    }

    @Override
    public void close() {}

    private <T> CompletableFuture<T> send(int kind, String name, LongFunction<T> script) {
        Sent<T> sent = new Sent<>(connection);
        if (isCut()) {
            if (chance.draw(instance.number, kind, 3).percent(20)) {
                throw new NoMemory();
            }
            instance.after(USUAL_NANOS, () -> sent.fail("there is no connection"));
            return sent;
        }
        open.add(sent);
        sent.timeout = instance.schedule(
                () -> sent.fail("no answer"), traits.commandTimeout().toNanos());
        SimulatedChance.Draw draw = chance.draw(instance.number, kind, name.isEmpty() ? 3 : name.charAt(0) - 'a');
        if (!isLost(draw)) {
            copy(sent, script, draw);
        }
        if (isDoubled(draw)) {
            copy(sent, script, draw);
        }
        return sent;
    }

    private <T> void copy(Sent<T> sent, LongFunction<T> script, SimulatedChance.Draw draw) {
        boolean replyLost = isLost(draw);
        long replyDelay = delay(draw);
        boolean outlivesCut = draw.percent(50);
        server.arrive(delay(draw), () -> {
            if (sent.connection != connection && !outlivesCut) {
                return;
            }
            long micros = server.micros();
            Runnable answer = run(sent, script, micros);
            if (!replyLost) {
                instance.after(replyDelay, answer);
            }
        });
    }

    private <T> Runnable run(Sent<T> sent, LongFunction<T> script, long micros) {
        try {
            T reply = script.apply(micros);
            return () -> answer(sent, reply, micros);
        } catch (Failure unknown) {
            return () -> sent.fail(String.valueOf(unknown.getMessage()));
        }
    }

    private <T> void answer(Sent<T> sent, T reply, long micros) {
        if (sent.connection == connection) {
            clock.told(micros);
            sent.answer(reply);
        }
    }

    /** The server tells this client something. */
    void message(Consumer<StoreListener> message) {
        StoreListener known = listener;
        SimulatedChance.Draw draw = chance.draw(instance.number, SimulatedChance.MESSAGE, 0);
        if (known == null || isCut()) {
            return;
        }
        int over = connection;
        for (int copies = isLost(draw) ? 0 : isDoubled(draw) ? 2 : 1; copies > 0; copies--) {
            instance.after(delay(draw), () -> {
                if (over == connection) {
                    message.accept(known);
                }
            });
        }
    }

    /** Without a stack, which costs more than most events, and of which a history has hundreds. */
    @SuppressWarnings("serial") // It is never written anywhere.
    private static final class Failure extends StoreException {

        private Failure(String why) {
            super(why, null);
        }

        @Override
        public Throwable fillInStackTrace() {
            return this;
        }
    }

    /** What a step has planned, without a stack. */
    @SuppressWarnings("serial") // It is never written anywhere.
    private static final class NoMemory extends OutOfMemoryError {

        private NoMemory() {
            super(SimulationLog.PLANNED);
        }

        @Override
        public Throwable fillInStackTrace() {
            return this;
        }
    }

    /** A command without an answer. */
    private final class Sent<T> extends CompletableFuture<T> {

        private final int connection;
        private final long sentAt = time.now();
        private Scheduler.@Nullable Timeout timeout;

        private Sent(int connection) {
            this.connection = connection;
        }

        private void answer(T reply) {
            if (end()) {
                complete(reply);
            }
        }

        private void fail(String why) {
            if (end()) {
                completeExceptionally(new Failure(why));
            }
        }

        private boolean isSlow() {
            return time.now() - sentAt > SLOW_NANOS;
        }

        private boolean end() {
            open.remove(this);
            slowUntil = Math.max(slowUntil, isSlow() ? time.now() : -1);
            Scheduler.Timeout known = timeout;
            if (known != null) {
                known.cancel();
            }
            return !isDone();
        }
    }
}
