/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.store.AcquireCommand;
import io.lockkeeper.store.AcquireReply;
import io.lockkeeper.store.StoreListener;
import io.lockkeeper.store.StoreTraits;
import io.lockkeeper.store.StoredInstance;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that are blocked while their request is tried again, over a store that answers on other threads. */
@Timeout(30)
class RetriesTest {

    private static final int CALLERS = 30;

    /** Shorter than most delays, and long enough for an answer where the processors have much else to do. */
    private static final Duration TIMEOUT = Duration.ofMillis(600);

    private static final Duration DELAY = Duration.ofMillis(1_300);
    private static final long ANSWER_MILLIS = 30;

    private final Map<String, Integer> questions = new ConcurrentHashMap<>();

    /** Refuses the first question for each lock, and answers all of them a little later. */
    private final class RefusingStore extends DelegatingStore {

        private RefusingStore() {
            super(new MemoryLockStore());
        }

        @Override
        public StoreTraits open(StoredInstance instance, Duration leaseTime, StoreListener listener) {
            StoreTraits traits = super.open(instance, leaseTime, listener);
            return new StoreTraits(TIMEOUT, traits.pollInterval(), traits.grantTime(), traits.queues());
        }

        @Override
        public CompletableFuture<AcquireReply> acquire(AcquireCommand command) {
            boolean first = questions.merge(command.name(), 1, Integer::sum) == 1;
            return new CompletableFuture<Void>()
                    .completeOnTimeout(null, ANSWER_MILLIS, TimeUnit.MILLISECONDS)
                    .thenComposeAsync(later -> first
                            ? CompletableFuture.completedFuture(new AcquireReply.Busy(""))
                            : super.acquire(command));
        }
    }

    /** A wait that the thread ends as well as a timer began a second row of tries, whose lease nobody received. */
    @Test
    void eachRefusalIsFollowedByOneTry() throws Exception {
        ExecutorService callers = Executors.newFixedThreadPool(CALLERS);
        try (LockTemplate template = LockTemplate.builder(new RefusingStore())
                .shutdownWait(Duration.ZERO)
                .build()) {
            List<CompletableFuture<ReleaseResult>> results = IntStream.range(0, CALLERS)
                    .mapToObj(i ->
                            LockRequest.of("stock" + i).withMode(LockMode.WRITE).withRetries(3, DELAY))
                    .map(request -> CompletableFuture.supplyAsync(
                            () -> template.acquire(request).release(), callers))
                    .toList();
            for (CompletableFuture<ReleaseResult> result : results) {
                assertThat(result.get(20, TimeUnit.SECONDS)).isEqualTo(ReleaseResult.RELEASED);
            }
            // Two delays are the longest that a further try would come late.
            Awaitility.await()
                    .during(DELAY.multipliedBy(2))
                    .atMost(DELAY.multipliedBy(10))
                    .until(() -> questions.values().stream().allMatch(count -> count == 2));
        } finally {
            callers.shutdownNow();
        }
    }
}
