/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.torture;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockNotAcquiredException;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/** One thread of a worker: takes locks in all forms, one after the other, and uses them. */
final class TortureThread {

    private static final Duration LONGEST_EXTENSION = Duration.ofMillis(1_200);

    private final LockTemplate template;
    private final Recorder recorder;
    private final LeaseUse use;
    private final Random random;
    private final TortureSettings settings;

    TortureThread(LockTemplate template, Recorder recorder, LeaseUse use, Random random, TortureSettings settings) {
        this.template = template;
        this.recorder = recorder;
        this.use = use;
        this.random = random;
        this.settings = settings;
    }

    /** Takes a lock once, in some form. */
    void step() throws InterruptedException {
        List<Form> forms = settings.promise().forms();
        Form form = forms.get(random.nextInt(forms.size()));
        Duration wait = Duration.ofMillis(random.nextInt(10) == 0 ? 4_000 : random.nextInt(1_500));
        LockRequest request = LockRequest.of(name()).withWaitTime(wait);
        switch (form) {
            case EXCLUSIVE -> acquire(form, request);
            case FAIR -> acquire(form, request.withMode(LockMode.FAIR));
            case READ -> acquire(form, request.withMode(LockMode.READ));
            case WRITE -> acquire(form, request.withMode(LockMode.WRITE));
            case SEVERAL_NAMES ->
                acquire(form, LockRequest.of(name(), name(), name()).withWaitTime(wait));
            case FIXED_LEASE, EXTENDED_LEASE ->
                acquire(form, request.withLeaseTime(Duration.ofMillis(100 + random.nextInt(500))));
            case MINIMUM_HOLD -> acquire(form, request.withMinHoldTime(Duration.ofMillis(random.nextInt(100))));
            case TRY -> acquire(form, request.withWaitTime(Duration.ZERO));
            case RETRIES ->
                acquire(form, request.withRetries(1 + random.nextInt(4), Duration.ofMillis(50 + random.nextInt(200))));
            case ASYNC, CANCELLED -> async(form, request);
            case INTERRUPTED -> interrupted(request);
            case RUN -> run(request);
            case VIEW -> view(random.nextBoolean() ? template.lock(name()) : template.fairLock(name()), wait);
            case DOWNGRADE -> downgrade(template.readWriteLock(name()), wait);
        }
    }

    private String name() {
        return "torture-" + random.nextInt(settings.names());
    }

    /** The longest time to the answer while nothing is wrong. */
    private Duration bound(LockRequest request) {
        Duration wait = request.waitTime() == null || request.retryCount() > 0 ? Duration.ZERO : request.waitTime();
        int attempts = 1 + request.retryCount();
        Duration delay = request.retryDelay() == null ? Duration.ZERO : request.retryDelay();
        return wait.plus(settings.commandTimeout().multipliedBy(attempts))
                .plus(delay.multipliedBy(2L * request.retryCount()))
                .plusSeconds(1);
    }

    private void acquire(Form form, LockRequest request) {
        String id = recorder.asked(form.name(), bound(request));
        Optional<LockLease> lease;
        try {
            lease = Optional.of(template.acquire(request));
        } catch (LockException failure) {
            failed(id, failure);
            return;
        }
        recorder.held(
                id,
                lease.get(),
                form == Form.EXTENDED_LEASE
                        ? LONGEST_EXTENSION
                        : Objects.requireNonNullElse(request.leaseTime(), Duration.ZERO));
        if (form == Form.EXTENDED_LEASE) {
            extend(id, lease.get());
        }
        use.use(id, lease.get());
        recorder.ending(id, lease.get());
        lease.get().release();
    }

    private void extend(String id, LockLease lease) {
        try {
            lease.extend(LONGEST_EXTENSION.minusMillis(random.nextInt(500)));
        } catch (LockException unknown) {
            // Not answered: the lease ends when it would have ended
        }
        recorder.still(id, lease);
    }

    private void failed(String id, LockException failure) {
        recorder.over(
                id,
                failure instanceof LockNotAcquiredException
                        ? "NOT_ACQUIRED"
                        : failure.getClass().getSimpleName());
    }

    private void async(Form form, LockRequest request) {
        String id = recorder.asked(form.name(), bound(request));
        CompletableFuture<LockLease> coming = template.acquireAsync(request);
        if (form == Form.CANCELLED) {
            coming.completeOnTimeout(null, random.nextInt(100), TimeUnit.MILLISECONDS);
        }
        LockLease lease;
        try {
            lease = coming.join();
        } catch (CompletionException | CancellationException failure) {
            recorder.over(id, failure.getCause() instanceof LockNotAcquiredException ? "NOT_ACQUIRED" : "FAILED");
            return;
        }
        if (lease == null) {
            recorder.over(id, "CANCELLED");
            return;
        }
        recorder.held(id, lease, Duration.ZERO);
        use.use(id, lease);
        recorder.ending(id, lease);
        lease.release();
    }

    /** Somebody interrupts the wait, or the use just after it. */
    private void interrupted(LockRequest request) {
        Thread self = Thread.currentThread();
        CompletableFuture<Void> alarm = CompletableFuture.runAsync(
                self::interrupt, CompletableFuture.delayedExecutor(random.nextInt(200), TimeUnit.MILLISECONDS));
        acquire(Form.INTERRUPTED, request);
        alarm.join();
        Thread.interrupted();
    }

    private void run(LockRequest request) {
        String id = recorder.asked(Form.RUN.name(), bound(request));
        try {
            template.run(request, lease -> {
                recorder.held(id, lease, Duration.ZERO);
                use.use(id, lease);
                if (lease.isHeld()) {
                    reenter(request);
                }
                recorder.ending(id, lease);
            });
        } catch (LockException failure) {
            failed(id, failure);
        }
    }

    private void reenter(LockRequest request) {
        try {
            template.run(request, LockLease::isHeld);
        } catch (LockException lost) {
            // The hold ended in between
        }
    }

    private void view(DistributedLock lock, Duration wait) throws InterruptedException {
        String id = recorder.asked(Form.VIEW.name(), bound(LockRequest.of("any").withWaitTime(wait)));
        if (!locked(id, lock, wait)) {
            return;
        }
        if (lock.getHoldCount() != 1) {
            throw new AssertionError("A count stayed up: " + lock.getHoldCount());
        }
        Optional<LockLease> lease = lock.currentLease();
        lease.ifPresent(held -> {
            recorder.held(id, held, Duration.ZERO);
            use.use(id, held);
            recorder.ending(id, held);
        });
        lock.unlock();
        if (lock.getHoldCount() != 0) {
            throw new AssertionError("A count stayed up after the last unlock: " + lock.getHoldCount());
        }
        if (lease.isEmpty()) {
            recorder.over(id, "LOST_AT_ONCE");
        }
    }

    private boolean locked(String id, DistributedLock lock, Duration wait) throws InterruptedException {
        try {
            if (lock.tryLock(wait)) {
                return true;
            }
            recorder.over(id, "NOT_ACQUIRED");
        } catch (LockException failure) {
            failed(id, failure);
        }
        return false;
    }

    /** Writes, goes on as a reader, and ends. */
    private void downgrade(DistributedReadWriteLock lock, Duration wait) throws InterruptedException {
        DistributedLock writing = lock.writeLock();
        DistributedLock reading = lock.readLock();
        Duration bound = bound(LockRequest.of("any").withWaitTime(wait));
        String id = recorder.asked(Form.DOWNGRADE.name(), bound);
        if (!locked(id, writing, wait)) {
            return;
        }
        Optional<LockLease> written = writing.currentLease();
        written.ifPresent(lease -> {
            recorder.held(id, lease, Duration.ZERO);
            use.use(id, lease);
        });
        String reader = recorder.asked(Form.DOWNGRADE.name(), bound);
        try {
            reading.lock();
        } catch (LockException lost) {
            written.ifPresent(lease -> recorder.ending(id, lease));
            writing.unlock();
            failed(reader, lost);
            return;
        }
        written.ifPresent(lease -> recorder.ending(id, lease));
        writing.unlock();
        read(reader, reading);
    }

    private void read(String id, DistributedLock reading) {
        Lock lock = reading;
        Optional<LockLease> lease = reading.currentLease();
        lease.ifPresent(held -> {
            recorder.held(id, held, Duration.ZERO);
            use.use(id, held);
            recorder.ending(id, held);
        });
        lock.unlock();
        if (lease.isEmpty()) {
            recorder.over(id, "LOST_AT_ONCE");
        }
    }
}
