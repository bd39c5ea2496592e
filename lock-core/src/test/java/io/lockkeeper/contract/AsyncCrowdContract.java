/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ten thousand callers wait for a thousand locks and are served, and a few threads suffice for all of it. */
public abstract class AsyncCrowdContract {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    private static final int NAMES = 1_000;
    private static final int WAITERS = 10_000;

    /** Beside other work a machine may need three minutes for so many hand-overs. */
    private static final Duration LONG = Duration.ofMinutes(6);
    /** With 19 all are there, four for callbacks among them. */
    private static final int THREADS = 40;
    /** Where a machine lets no callback begin for 25 ms, there are four times as many, and after 64 one more each time. */
    private static final int THREADS_AFTER_PAUSES = 200;
    /** After so long, every place in the store is renewed: the store is to be made so. */
    protected static final Duration POLL_INTERVAL = Duration.ofMillis(1_500);

    private final Duration leaseTime;
    private final ThreadGroup holders = new ThreadGroup("holders");
    private final ThreadGroup apart;

    /** Where users wait for the answers to their releases. */
    private final ExecutorService users = Executors.newFixedThreadPool(4);

    /**
     * Creates the contract.
     *
     * @param leaseTime the lease of the waiting instance
     * @param apart whether the threads of the holding instance never work for the waiting one, and are not counted
     */
    protected AsyncCrowdContract(Duration leaseTime, boolean apart) {
        this.leaseTime = leaseTime;
        this.apart = apart ? holders : new ThreadGroup("nobody");
    }

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    private LockTemplate instance(Duration lease) {
        return LockTemplate.builder(fencing.watch(store()))
                .leaseTime(lease)
                .shutdownWait(Duration.ZERO)
                .build();
    }

    /** Runs something on a thread whose group its threads inherit. */
    private <T> T apart(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, task -> new Thread(holders, task).start())
                .join();
    }

    @ParameterizedTest
    @EnumSource(names = {"EXCLUSIVE", "FAIR"})
    void aCrowdOfFuturesNeedsFewThreads(LockMode mode) throws Exception {
        // What it holds ends by no means while ten thousand come.
        LockTemplate holder = apart(() -> instance(LONG));
        try (LiveThreads threads = new LiveThreads(apart);
                LockTemplate waiting = instance(leaseTime)) {
            List<LockLease> held = apart(() -> IntStream.range(0, NAMES)
                    .mapToObj(i -> holder.acquire(mode + " " + i))
                    .toList());
            int[] counters = new int[NAMES];
            List<CompletableFuture<?>> crowd = new ArrayList<>(WAITERS);
            for (int i = 0; i < WAITERS; i++) {
                int number = i % NAMES;
                LockRequest request =
                        LockRequest.of(mode + " " + number).withMode(mode).withWaitTime(LONG);
                crowd.add(
                        i < WAITERS / 2
                                ? waiting.executeAsync(request, lease -> {
                                    counters[number]++;
                                    return CompletableFuture.completedFuture(null);
                                })
                                : waiting.acquireAsync(request)
                                        .thenAcceptAsync(
                                                lease -> {
                                                    counters[number]++;
                                                    lease.close();
                                                },
                                                users));
            }
            CompletableFuture<Void> all = CompletableFuture.allOf(crowd.toArray(CompletableFuture<?>[]::new));
            assertThatThrownBy(() -> all.get(POLL_INTERVAL.toMillis() * 3 / 2, TimeUnit.MILLISECONDS))
                    .isInstanceOf(TimeoutException.class);
            assertThat(held).allMatch(LockLease::isHeld);
            Collection<String> whileWaiting = threads.most();

            apart(() -> {
                held.forEach(LockLease::close);
                return true;
            });
            all.get(LONG.toMinutes() + 1, TimeUnit.MINUTES);
            Collection<String> whileServed = threads.most();
            assertThat(counters).containsOnly(WAITERS / NAMES);
            assertFew(whileWaiting);
            assertFew(whileServed);
        } finally {
            users.shutdownNow();
            holder.close();
        }
    }

    private static void assertFew(Collection<String> threads) {
        assertThat(threads).filteredOn(name -> !name.contains("callback")).hasSizeLessThan(THREADS);
        assertThat(threads).filteredOn(name -> name.contains("callback")).hasSizeLessThan(THREADS_AFTER_PAUSES);
    }
}
