/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.engine;

import io.lockkeeper.LockInstance;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.StoredInstance;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The instances that hold locks or wait for them, by the ids of their attempts. Those seen lately are remembered. */
final class InstanceDirectory {

    private static final int CLIENT_ID_LENGTH = 12;
    private static final int REMEMBERED = 1_000;

    private final LockStore store;
    private final LockInstance here;
    private final Map<String, LockInstance> known = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, LockInstance> eldest) {
            return size() > REMEMBERED;
        }
    };

    InstanceDirectory(LockStore store, StoredInstance here) {
        this.store = store;
        this.here = described(here);
    }

    /** Returns this instance, without asking the store. */
    LockInstance here() {
        return here;
    }

    /**
     * Returns who made an attempt; null where that cannot be told soon.
     *
     * @param attempt the attempt
     * @param scheduler ends what takes longer
     * @param patienceNanos how long it may take
     */
    CompletableFuture<@Nullable LockInstance> find(String attempt, Scheduler scheduler, long patienceNanos) {
        String clientId = clientId(attempt);
        LockInstance seen = seen(clientId);
        if (seen != null || patienceNanos <= 0) {
            return CompletableFuture.completedFuture(seen);
        }
        CompletableFuture<@Nullable LockInstance> found = new CompletableFuture<>();
        Scheduler.Timeout patience = scheduler.schedule(() -> found.complete(null), patienceNanos);
        learn(List.of(clientId)).whenComplete((learned, failure) -> {
            patience.cancel();
            found.complete(seen(clientId));
        });
        return found;
    }

    /** Returns who made attempts, in their order; one that is unknown has its id and nothing else. */
    CompletableFuture<List<LockInstance>> all(List<String> attempts) {
        List<String> clientIds =
                attempts.stream().map(InstanceDirectory::clientId).toList();
        List<String> unknown = clientIds.stream()
                .distinct()
                .filter(clientId -> seen(clientId) == null)
                .toList();
        CompletableFuture<?> learned = unknown.isEmpty() ? CompletableFuture.completedFuture(null) : learn(unknown);
        return learned.thenApply(done -> clientIds.stream().map(this::orUnknown).toList());
    }

    private LockInstance orUnknown(String clientId) {
        LockInstance seen = seen(clientId);
        return seen == null ? new LockInstance(clientId, clientId, "", 0, Instant.EPOCH) : seen;
    }

    private CompletableFuture<?> learn(List<String> clientIds) {
        return StoreCalls.safely(() -> store.instances(clientIds)).thenAccept(found -> found.forEach(this::remember));
    }

    private void remember(StoredInstance instance) {
        synchronized (known) {
            known.put(instance.clientId(), described(instance));
        }
    }

    private static LockInstance described(StoredInstance instance) {
        String application = instance.application().isEmpty() ? instance.clientId() : instance.application();
        return new LockInstance(instance.clientId(), application, instance.host(), instance.pid(), instance.since());
    }

    private @Nullable LockInstance seen(String clientId) {
        if (clientId.equals(here.id())) {
            return here;
        }
        synchronized (known) {
            return known.get(clientId);
        }
    }

    private static String clientId(String attempt) {
        return attempt.substring(0, Math.min(CLIENT_ID_LENGTH, attempt.length()));
    }
}
