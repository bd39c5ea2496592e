/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockInspector;
import io.lockkeeper.LockInstance;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStatus;
import io.lockkeeper.LockWait;
import io.lockkeeper.store.ClaimMode;
import io.lockkeeper.store.ClientIds;
import io.lockkeeper.store.ForeignRecordException;
import io.lockkeeper.store.GrantChannel;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoreException;
import io.lockkeeper.store.StoredInstance;
import io.lockkeeper.store.StoredLock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks at locks for operators, and knows which instances hold them or wait: those seen lately without the store. */
final class LockInspection implements LockInspector {

    private static final Logger log = LoggerFactory.getLogger(LockInspector.class);

    /** Most names may be of locks that were released a moment ago. */
    private static final int MOST_NAMES = 100_000;

    private static final int AT_ONCE = 100;

    /** How much longer than one answer a search may take: the store goes through all its keys, page by page. */
    private static final int SEARCH_PATIENCE = 100;

    private static final int REMEMBERED = 1_000;

    private final LockStore store;
    private final LeaseRegistry registry;
    private final EngineContext context;
    private final StoredInstance here;
    private final Consumer<StoreHold> revoked;
    private final long patienceNanos;
    private final Map<String, StoredInstance> known = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, StoredInstance> eldest) {
            return size() > REMEMBERED;
        }
    };

    /** Unanswered requests for instances, by their ids, shared by concurrent inspections. */
    private final Map<List<String>, CompletableFuture<?>> underWay = new ConcurrentHashMap<>();

    /**
     * Makes an inspection.
     *
     * @param revoked hears of a hold of this instance that was taken away by force
     * @param patience how long one who looks waits for the names of instances
     */
    LockInspection(
            LockStore store,
            LeaseRegistry registry,
            EngineContext context,
            StoredInstance here,
            Consumer<StoreHold> revoked,
            Duration patience) {
        this.store = store;
        this.registry = registry;
        this.context = context;
        this.here = here;
        this.revoked = revoked;
        this.patienceNanos = patience.toNanos();
    }

    // ---- one lock ----

    @Override
    public Optional<LockStatus> status(String name) {
        LockRequest.of(name);
        return PendingAnswers.answer(name, describe(name), 2 * patienceNanos);
    }

    /** Returns whether a lock is held: in READ by readers, in WRITE by one holder alone, in other modes in any way. */
    boolean isLocked(String name, LockMode mode) {
        Optional<StoredLock> found = PendingAnswers.answer(name, store.inspect(name), patienceNanos);
        return found.filter(lock -> !lock.holders().isEmpty())
                .filter(lock -> switch (mode) {
                    case READ -> lock.mode() == ClaimMode.READ;
                    case WRITE -> lock.mode() != ClaimMode.READ;
                    case EXCLUSIVE, FAIR -> true;
                })
                .isPresent();
    }

    CompletableFuture<Optional<LockStatus>> describe(String name) {
        return store.inspect(name).thenCompose(found -> learn(
                        found.stream().flatMap(lock -> Stream.concat(lock.holders().stream(), lock.waiters().stream())))
                .thenApply(learned -> found.map(this::status)));
    }

    private LockStatus status(StoredLock lock) {
        return new LockStatus(
                lock.name(),
                LockMode.valueOf(lock.mode().name()),
                lock.holders().stream()
                        .map(attempt -> holder(attempt, lock.name()))
                        .toList(),
                lock.token(),
                Duration.ofMillis(lock.remainingMillis()),
                lock.waiters().stream().map(this::waiter).toList(),
                lock.waiting());
    }

    // ---- instances ----

    @Override
    public Optional<LockInstance> here() {
        return Optional.of(described(here));
    }

    /** Returns the instance of an attempt that holds a lock; null if it is not known in time. */
    CompletableFuture<@Nullable LockInstance> holderOf(@Nullable String attempt, long patienceNanos) {
        if (attempt == null || attempt.isEmpty()) {
            return CompletableFuture.completedFuture(null);
        } else if (seen(attempt) == null && patienceNanos > 0) {
            return context.scheduler()
                    .atMost(patienceNanos, learn(Stream.of(attempt)))
                    .thenApply(learned -> seen(attempt));
        }
        return CompletableFuture.completedFuture(registry.heldBy(attempt)
                .map(lease -> holder(lease, lease.name()))
                .orElse(seen(attempt)));
    }

    /** Asks the store for the instances that made attempts, where they were not seen lately. */
    private CompletableFuture<?> learn(Stream<String> attempts) {
        List<String> unknown = attempts.filter(attempt -> seen(attempt) == null)
                .map(LockInspection::clientId)
                .distinct()
                .toList();
        CompletableFuture<Boolean> learned = new CompletableFuture<>();
        CompletableFuture<?> asked = unknown.isEmpty() ? PendingAnswers.DONE : underWay.putIfAbsent(unknown, learned);
        if (asked != null) {
            return asked;
        }
        PendingAnswers.safely(() -> inTime(store.instances(unknown).thenApply(this::remember)))
                .whenComplete((done, failure) -> {
                    underWay.remove(unknown);
                    if (failure == null) {
                        learned.complete(true);
                    } else {
                        learned.completeExceptionally(failure);
                    }
                });
        return learned;
    }

    /** Without an answer in time, those who look go on without the names, and the next one asks anew. */
    private CompletableFuture<Boolean> inTime(CompletableFuture<Boolean> answer) {
        return context.scheduler()
                .atMost(patienceNanos, answer)
                .thenCompose(told -> answer.isDone() ? answer : CompletableFuture.completedFuture(false));
    }

    private boolean remember(List<StoredInstance> found) {
        synchronized (known) {
            found.forEach(instance -> known.put(instance.clientId(), instance));
        }
        return true;
    }

    private @Nullable LockInstance seen(String attempt) {
        String clientId = clientId(attempt);
        synchronized (known) {
            StoredInstance seen = clientId.equals(here.clientId()) ? here : known.get(clientId);
            return seen == null ? null : described(seen);
        }
    }

    private static String clientId(String attempt) {
        return attempt.substring(0, Math.min(ClientIds.LENGTH, attempt.length()));
    }

    private LockInstance orUnknown(String attempt) {
        LockInstance seen = seen(attempt);
        String id = clientId(attempt);
        return seen == null ? new LockInstance(id, id, "", 0, Instant.EPOCH) : seen;
    }

    private LockInstance holder(String attempt, String name) {
        return registry.heldBy(attempt).map(lease -> holder(lease, name)).orElseGet(() -> orUnknown(attempt));
    }

    private LockInstance holder(ManagedLease lease, String name) {
        Instant since = Instant.ofEpochMilli(lease.grantedMillis);
        return described(here, since, null, lease.label(), nameOf(lease.thread), lease.fencingToken(name));
    }

    /** Returns who made a waiting attempt: of the callers here the one who has waited longest. */
    private LockInstance waiter(String attempt) {
        return Stream.ofNullable(registry.lockOf(attempt))
                .flatMap(lock -> registry.pending().stream().filter(caller -> registry.lockOf(caller) == lock))
                .min(Comparator.comparingLong(caller -> caller.number))
                .map(caller ->
                        described(here, null, asked(caller), caller.request.label(), nameOf(caller.thread), null))
                .orElseGet(() -> orUnknown(attempt));
    }

    private static Instant asked(PendingRequest caller) {
        return Instant.ofEpochMilli(caller.asked.wallMillis());
    }

    private static LockInstance described(StoredInstance instance) {
        return described(instance, null, null, null, null, null);
    }

    private static LockInstance described(
            StoredInstance instance,
            @Nullable Instant held,
            @Nullable Instant waiting,
            @Nullable String label,
            @Nullable String thread,
            @Nullable Long token) {
        String id = instance.clientId();
        String application = instance.application().isEmpty() ? id : instance.application();
        String service = instance.service().isEmpty() ? application : instance.service();
        String host = instance.host();
        return new LockInstance(
                id, application, host, instance.pid(), instance.since(), held, waiting, label, thread, token, service);
    }

    @SuppressWarnings("deprecation") // Java 17 has no other way to the id.
    private static String nameOf(Thread thread) {
        return thread.getName().isEmpty() ? "#" + thread.getId() : thread.getName();
    }

    // ---- all locks ----

    @Override
    public List<LockStatus> heldHere() {
        Map<String, LockStatus> held = new LinkedHashMap<>();
        for (ManagedLease lease : registry.held()) {
            if (lease.isHeld()) {
                for (String name : lease.names()) {
                    LockStatus status = new LockStatus(
                            name,
                            lease.mode(),
                            List.of(holder(lease, name)),
                            lease.fencingToken(name),
                            lease.remaining(),
                            List.of());
                    held.merge(name, status, (a, b) -> a.remaining().compareTo(b.remaining()) >= 0 ? a : b);
                }
            }
        }
        return List.copyOf(held.values());
    }

    @Override
    public List<LockWait> waitingHere() {
        ClockReading now = context.now();
        return registry.pending().stream()
                .map(caller -> new LockWait(
                        caller.request.names(),
                        caller.request.mode(),
                        caller.request.label(),
                        caller.asked.until(now),
                        asked(caller),
                        nameOf(caller.thread)))
                .toList();
    }

    @Override
    public GrantChannel grantChannel() {
        return store.grantChannel();
    }

    @Override
    public List<LockStatus> find(String namePattern, int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("The limit must be 1 or more, but is " + limit);
        }
        List<String> candidates = PendingAnswers.answer(
                namePattern,
                store.find(namePattern, Math.max(limit, MOST_NAMES)),
                Math.min(patienceNanos, Long.MAX_VALUE / SEARCH_PATIENCE) * SEARCH_PATIENCE);
        List<LockStatus> found = new ArrayList<>();
        for (int from = 0; from < candidates.size() && found.size() < limit; from += AT_ONCE) {
            List<CompletableFuture<Optional<LockStatus>>> answers =
                    candidates.subList(from, Math.min(candidates.size(), from + AT_ONCE)).stream()
                            .map(name -> describe(name).exceptionally(LockInspection::leaveOutForeign))
                            .toList();
            answers.forEach(answer -> PendingAnswers.answer(namePattern, answer, 2 * patienceNanos)
                    .ifPresent(found::add));
        }
        return found.size() > limit ? List.copyOf(found.subList(0, limit)) : found;
    }

    private static Optional<LockStatus> leaveOutForeign(Throwable failure) {
        StoreException known = PendingAnswers.storeFailure(failure);
        if (known instanceof ForeignRecordException) {
            log.warn("A lock is left out: {}", known.getMessage());
            return Optional.empty();
        }
        throw known;
    }

    @Override
    public boolean forceRelease(String name) {
        LockRequest.of(name);
        // Those that begin later may come after the revocation.
        List<StoreHold> ours =
                registry.holds().filter(hold -> hold.names.contains(name)).toList();
        boolean held = PendingAnswers.answer(name, store.revoke(name), patienceNanos);
        if (held) {
            ours.forEach(revoked);
        }
        return held;
    }
}
