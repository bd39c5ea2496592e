/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.lockkeeper.DistributedLock;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** One lock through each of its views, in instances that a test makes, with threads that it starts. */
@Timeout(180)
@ParameterizedClass
@EnumSource(LockViews.View.class)
abstract class LockViews {

    @RegisterExtension
    final FencingOrder fencing = new FencingOrder();

    /** Twice the grant time that follows from it: a place that nobody claims is noticed. */
    static final Duration LEASE = Duration.ofSeconds(30);

    /** The ways to a lock of {@link java.util.concurrent.locks.Lock}. */
    enum View {
        PLAIN {
            @Override
            DistributedLock of(LockTemplate template, String name) {
                return template.lock(name);
            }
        },
        FAIR {
            @Override
            DistributedLock of(LockTemplate template, String name) {
                return template.fairLock(name);
            }
        },
        SEVERAL {
            @Override
            DistributedLock of(LockTemplate template, String name) {
                return template.lock(LockRequest.of(name, name + " too"));
            }
        };

        abstract DistributedLock of(LockTemplate template, String name);
    }

    @Parameter
    View view = View.PLAIN;

    private final List<LockTemplate> templates = new ArrayList<>();
    String name = "";

    /** Returns a new store over the locks that all stores of one test share. */
    protected abstract LockStore store();

    @BeforeEach
    void nameTheLock(TestInfo test) {
        name = test.getDisplayName() + " {" + System.nanoTime() + "}";
    }

    @AfterEach
    void close() {
        // A test that left the flag set would spoil the next one.
        assertThat(Thread.interrupted()).isFalse();
        templates.forEach(LockTemplate::close);
    }

    /** Returns a new instance. */
    LockTemplate instance() {
        LockTemplate template = LockTemplate.builder(fencing.watch(store()))
                .leaseTime(LEASE)
                .shutdownWait(Duration.ZERO)
                .build();
        templates.add(template);
        return template;
    }

    /** Returns the test's lock, seen by a new instance. */
    DistributedLock lock() {
        return view.of(instance(), name);
    }

    /** Work on a thread of its own, and what came of it. */
    record Running<T>(Thread thread, CompletableFuture<T> outcome) {

        private static final Set<Thread.State> WAITING = Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

        /** Returns when the thread waits for something. */
        Running<T> waiting() {
            Awaitility.await()
                    .pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> WAITING.contains(thread.getState()));
            return this;
        }

        T result() throws Exception {
            T result = outcome.get(30, TimeUnit.SECONDS);
            thread.join(TimeUnit.SECONDS.toMillis(30));
            return result;
        }
    }

    static <T> Running<T> start(Callable<T> work) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                outcome.complete(work.call());
            } catch (Exception | Error failure) {
                outcome.completeExceptionally(failure);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return new Running<>(thread, outcome);
    }

    /** Whether somebody else can have the lock at once, and gives it back. */
    static boolean isFree(DistributedLock lock) throws Exception {
        return start(() -> {
                    boolean had = lock.tryLock();
                    if (had) {
                        lock.unlock();
                    }
                    return had;
                })
                .result();
    }
}
