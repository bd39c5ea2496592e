package io.lockkeeper.engine;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener;
import io.lockkeeper.LockLostException;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.ReleaseResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One caller's hold within a tenure. Held until it is released or lost, whichever is first; neither is ever undone. */
final class HeldLease implements LockLease {

    private static final Logger log = LoggerFactory.getLogger(LockLease.class);

    private enum State {
        HELD,
        RELEASED,
        LOST
    }

    private final LockRequest request;
    private final Tenure tenure;
    private final long token;
    private final LeaseKeeper keeper;
    private final Moment granted;
    private final List<Consumer<LockLostException>> callbacks = new ArrayList<>(0);
    private volatile int attempts = 1;
    private State state = State.HELD;
    private boolean releaseSeen;
    private @Nullable LockLostException loss;

    HeldLease(LockRequest request, Tenure tenure, long token, LeaseKeeper keeper) {
        this.request = request;
        this.tenure = tenure;
        this.token = token;
        this.keeper = keeper;
        this.granted = keeper.clock().now();
    }

    LockRequest request() {
        return request;
    }

    /** Returns how often the caller tried before it had this lease. */
    int attempts() {
        return attempts;
    }

    void attempts(int made) {
        attempts = made;
    }

    Tenure tenure() {
        return tenure;
    }

    @Override
    public String name() {
        return tenure.claim.name();
    }

    @Override
    public List<String> names() {
        return request.names();
    }

    @Override
    public LockMode mode() {
        return request.mode();
    }

    @Override
    public long fencingToken() {
        return token;
    }

    @Override
    public long fencingToken(String name) {
        if (!name.equals(name())) {
            throw new IllegalArgumentException("This lease holds " + names() + ", not '" + name + "'");
        }
        return token;
    }

    @Override
    public boolean isHeld() {
        if (state() != State.HELD) {
            return false;
        }
        if (!tenure.isOver() && tenure.deadline().hasPassed(keeper.clock())) {
            keeper.lose(tenure, "its lease ended before it was renewed");
        }
        return state() == State.HELD && !tenure.isOver();
    }

    @Override
    public Duration remaining() {
        return isHeld() ? Duration.ofNanos(tenure.deadline().nanosFrom(keeper.clock())) : Duration.ZERO;
    }

    @Override
    public void ensureHeld() {
        if (!isHeld()) {
            LockLostException lost = loss();
            throw lost != null ? lost : lossBecause("it was released");
        }
    }

    @Override
    public boolean verify() {
        return isHeld() && keeper.verify(this);
    }

    @Override
    public boolean extend(Duration leaseTime) {
        LockRequest checked = request.withLeaseTime(leaseTime);
        return isHeld()
                && keeper.extend(
                        this,
                        Claim.measurable(Objects.requireNonNull(checked.leaseTime()))
                                .toMillis());
    }

    @Override
    public void onLost(Consumer<LockLostException> callback) {
        Objects.requireNonNull(callback, "callback must not be null");
        LockLostException lost;
        synchronized (this) {
            lost = loss;
            if (lost == null) {
                callbacks.add(callback);
                return;
            }
        }
        call(callback, lost);
    }

    @Override
    public ReleaseResult release() {
        CompletableFuture<ReleaseResult> command = end();
        return command == null ? ReleaseResult.ALREADY_RELEASED : ended(command.join());
    }

    /** As {@link #close()}, but without waiting for the store. */
    CompletableFuture<ReleaseResult> closeAsync() {
        CompletableFuture<ReleaseResult> command = end();
        return command == null
                ? CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED)
                : command.thenApply(this::ended).whenComplete((result, never) -> report(result));
    }

    /** Ends the hold here, at once; null: it was released before. */
    private @Nullable CompletableFuture<ReleaseResult> end() {
        boolean held = isHeld();
        synchronized (this) {
            if (releaseSeen) {
                return null;
            }
            releaseSeen = true;
            if (held && state == State.HELD) {
                state = State.RELEASED;
                callbacks.clear();
            } else {
                held = false;
            }
        }
        return held ? keeper.release(this) : CompletableFuture.completedFuture(ReleaseResult.LOST);
    }

    private ReleaseResult ended(ReleaseResult result) {
        if (result == ReleaseResult.LOST && isReleased()) {
            LockLostException late = lossBecause("the store did not know of it any more when it was released");
            keeper.listener().onLost(new LockListener.Lost(request, late));
        }
        if (result == ReleaseResult.LOST) {
            keeper.giveBack(this);
        }
        keeper.over(this);
        keeper.listener().onReleased(new LockListener.Released(request, token, heldFor(), result));
        return result;
    }

    @Override
    public void close() {
        report(release());
    }

    private void report(ReleaseResult result) {
        switch (result) {
            case LOST ->
                log.warn(
                        "Lock '{}' had been lost before its release, after {} ms",
                        name(),
                        heldFor().toMillis());
            case UNKNOWN -> log.warn("Release of lock '{}' was not answered; it is repeated in the background", name());
            case RELEASED, ALREADY_RELEASED -> {}
        }
    }

    /** Ends this hold by loss, unless it is over. */
    void lost(String reason) {
        List<Consumer<LockLostException>> due;
        LockLostException lost;
        synchronized (this) {
            if (state != State.HELD) {
                return;
            }
            state = State.LOST;
            lost = lossBecause(reason);
            loss = lost;
            due = List.copyOf(callbacks);
            callbacks.clear();
        }
        due.forEach(callback -> call(callback, lost));
        log.warn("{}", lost.getMessage());
        keeper.over(this);
        keeper.listener().onLost(new LockListener.Lost(request, lost));
    }

    private void call(Consumer<LockLostException> callback, LockLostException lost) {
        keeper.callbacks().execute(() -> {
            try {
                callback.accept(lost);
            } catch (RuntimeException | Error failure) {
                log.error("The callback for the loss of lock '{}' failed", name(), failure);
            }
        });
    }

    private synchronized State state() {
        return state;
    }

    private synchronized @Nullable LockLostException loss() {
        return loss;
    }

    boolean isReleased() {
        return state() == State.RELEASED;
    }

    private LockLostException lossBecause(String reason) {
        return new LockLostException(name(), token, heldFor(), reason);
    }

    private Duration heldFor() {
        return granted.until(keeper.clock());
    }

    @Override
    public String toString() {
        return "LockLease[" + name() + ", " + mode() + ", token " + token + ", " + state() + "]";
    }
}
