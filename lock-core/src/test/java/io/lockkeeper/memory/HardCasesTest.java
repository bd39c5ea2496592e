/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockStoreException;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.DelegatingStore;
import io.lockkeeper.store.LockStore;
import io.lockkeeper.store.RenewCommand;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Execution(ExecutionMode.CONCURRENT)
class HardCasesTest {

    private final MemoryLockStore first = new MemoryLockStore();
    private final List<LockTemplate> templates = new ArrayList<>();

    private LockTemplate instance(LockStore store, Duration lease) {
        LockTemplate template = LockTemplate.builder(store)
                .leaseTime(lease)
                .shutdownWait(Duration.ZERO)
                .build();
        templates.add(template);
        return template;
    }

    @AfterEach
    void close() {
        templates.forEach(LockTemplate::close);
    }

    /** A write lock with an end of its own, longer than the lease, is downgraded: a writer elsewhere must stay out. */
    @Test
    void anExtendedWriterWhoGoesOnAsReaderKeepsWritersOut() throws Exception {
        LockTemplate one = instance(first.peer(), Duration.ofSeconds(2));
        LockTemplate two = instance(first.peer(), Duration.ofSeconds(2));
        DistributedReadWriteLock lock = one.readWriteLock("stock");
        lock.writeLock().lock();
        assertThat(lock.writeLock().currentLease().orElseThrow().extend(Duration.ofSeconds(20)))
                .isTrue();
        lock.readLock().lock();
        lock.writeLock().unlock();
        LockLease reader = lock.readLock().currentLease().orElseThrow();
        assertThat(reader.remaining()).isGreaterThan(Duration.ofSeconds(15));

        Optional<LockLease> writer =
                two.tryAcquire(LockRequest.of("stock").withMode(LockMode.WRITE).withWaitTime(Duration.ofSeconds(5)));

        assertThat(writer.isPresent() && reader.isHeld())
                .as("both a writer and a reader believe in the lock")
                .isFalse();
        lock.readLock().unlock();
    }

    private static int waiters(LockTemplate template, String name) {
        return template.inspector().status(name).orElseThrow().waiters().size();
    }

    /** The same with a lease that was fixed from the beginning and extended. */
    @Test
    void aFixedWriterWhoWasExtendedAndGoesOnAsReaderKeepsWritersOut() throws Exception {
        LockTemplate one = instance(first.peer(), Duration.ofSeconds(2));
        LockTemplate two = instance(first.peer(), Duration.ofSeconds(2));
        DistributedReadWriteLock lock = one.readWriteLock("stock");
        lock.writeLock().lock(Duration.ofSeconds(1));
        lock.writeLock().currentLease().orElseThrow().extend(Duration.ofSeconds(20));
        lock.readLock().lock();
        lock.writeLock().unlock();
        LockLease reader = lock.readLock().currentLease().orElseThrow();

        Optional<LockLease> writer =
                two.tryAcquire(LockRequest.of("stock").withMode(LockMode.WRITE).withWaitTime(Duration.ofSeconds(5)));

        assertThat(writer.isPresent() && reader.isHeld())
                .as("both a writer and a reader believe in the lock")
                .isFalse();
        lock.readLock().unlock();
    }

    /** extend() said true for 20 s. */
    @Test
    void aReaderWithAFixedLeaseCanBeExtended() throws Exception {
        LockTemplate one = instance(first.peer(), Duration.ofSeconds(3));
        LockLease reader =
                one.acquire(LockRequest.of("stock").withMode(LockMode.READ).withLeaseTime(Duration.ofSeconds(1)));
        assertThat(reader.extend(Duration.ofSeconds(20))).isTrue();
        Awaitility.await()
                .during(Duration.ofMillis(1_500))
                .atMost(Duration.ofSeconds(5))
                .until(reader::isHeld);
        assertThat(reader.remaining()).isGreaterThan(Duration.ofSeconds(10));
    }

    /** The store is away for 1 s while a writer goes on as reader and then leaves: the lock must be free soon after. */
    @Test
    void aDowngradeAndAReleaseWhileTheStoreIsAwayLeakNothing() throws Exception {
        DelegatingStore flaky = new DelegatingStore(first.peer());
        LockTemplate one = instance(flaky, Duration.ofSeconds(30));
        LockTemplate two = instance(first.peer(), Duration.ofSeconds(30));
        DistributedReadWriteLock lock = one.readWriteLock("stock");
        lock.writeLock().lock();
        lock.readLock().lock();
        flaky.cutOff(true);
        lock.writeLock().unlock();
        lock.readLock().unlock();
        Awaitility.await().pollDelay(Duration.ofSeconds(1)).until(() -> two.lock("stock")
                .isLocked());
        flaky.cutOff(false);

        Optional<LockLease> writer =
                two.tryAcquire(LockRequest.of("stock").withMode(LockMode.WRITE).withWaitTime(Duration.ofSeconds(8)));

        assertThat(writer).as("a writer, 8 s after the store came back").isPresent();
    }

    /** The control: the same without a downgrade. */
    @Test
    void aReleaseWhileTheStoreIsAwayLeaksNothing() throws Exception {
        DelegatingStore flaky = new DelegatingStore(first.peer());
        LockTemplate one = instance(flaky, Duration.ofSeconds(30));
        LockTemplate two = instance(first.peer(), Duration.ofSeconds(30));
        LockLease held = one.acquire(LockRequest.of("stock").withMode(LockMode.WRITE));
        flaky.cutOff(true);
        assertThat(held.release()).isEqualTo(ReleaseResult.UNKNOWN);
        Awaitility.await().pollDelay(Duration.ofSeconds(1)).until(() -> two.lock("stock")
                .isLocked());
        flaky.cutOff(false);
        assertThat(two.tryAcquire(
                        LockRequest.of("stock").withMode(LockMode.WRITE).withWaitTime(Duration.ofSeconds(8))))
                .isPresent();
    }

    /** One command of a downgrade fails; nothing was lost. */
    @Test
    void aReleaseAfterADowngradeThatFailedOnceIsNotReportedAsLoss() throws Exception {
        DelegatingStore flaky = new DelegatingStore(first.peer());
        LockTemplate one = instance(flaky, Duration.ofSeconds(30));
        List<ReleaseResult> results = new ArrayList<>();
        DistributedReadWriteLock lock = one.readWriteLock("stock");
        lock.writeLock().lock();
        LockRequest read = LockRequest.of("stock").withMode(LockMode.READ);
        one.execute(read, level -> {
            flaky.cutOff(true);
            lock.writeLock().unlock();
            flaky.cutOff(false);
            assertThat(level.isHeld()).isTrue();
            results.add(level.release());
            return null;
        });
        assertThat(results).doesNotContain(ReleaseResult.LOST);
    }

    /** The answer to an extension is lost, and Redis runs the command late, after the next extension. */
    @Test
    void aLateExtensionDoesNotShortenTheHold() throws Exception {
        MemoryLockStore inner = first.peer();
        List<List<RenewCommand>> late = new ArrayList<>();
        DelegatingStore slow = new DelegatingStore(inner) {
            @Override
            public List<CompletableFuture<Boolean>> renew(List<RenewCommand> commands) {
                if (late.isEmpty()) {
                    late.add(commands);
                    return commands.stream()
                            .map(c -> DelegatingStore.<Boolean>silent())
                            .toList();
                }
                return super.renew(commands);
            }
        };
        LockTemplate one = instance(slow, Duration.ofSeconds(30));
        LockTemplate two = instance(first.peer(), Duration.ofSeconds(30));
        LockLease held = one.acquire("stock");
        assertThatThrownBy(() -> held.extend(Duration.ofSeconds(2))).isInstanceOf(LockStoreException.class);
        assertThat(held.extend(Duration.ofSeconds(20))).isTrue();
        // Now the first one arrives.
        inner.renew(late.get(0));

        Optional<LockLease> other = two.tryAcquire(LockRequest.of("stock").withWaitTime(Duration.ofSeconds(6)));

        assertThat(other.isPresent() && held.isHeld())
                .as("two exclusive holders")
                .isFalse();
    }

    /** Redis takes this for [a-c]. */
    @Test
    void oddPatternsAreNoErrors() {
        LockTemplate one = instance(first.peer(), Duration.ofSeconds(3));
        one.acquire("b");
        assertThat(one.inspector().find("[c-a]", 10)).hasSize(1);
    }

    /** A set's release writes the first name's token into every record. */
    @Test
    void tokensOfASecondNameRiseWhereItsRecordIsAheadOfTheFirst() throws Exception {
        long[] micros = {1_700_000_000_000_000L};
        MemoryLockStore store = new MemoryLockStore(new MemoryLockStore.Heap(() -> micros[0]));
        LockTemplate one = instance(store.peer(), Duration.ofSeconds(30));
        LockTemplate two = instance(store.peer(), Duration.ofSeconds(30));
        LockLease a = one.acquire("a");
        LockLease b = one.acquire("b");
        CompletableFuture<LockLease> set =
                one.acquireAsync(LockRequest.of("a", "b").withWaitTime(Duration.ofSeconds(20)));
        Awaitility.await().until(() -> waiters(two, "a") == 1);
        a.release();
        Awaitility.await().until(() -> waiters(two, "b") == 1);
        CompletableFuture<LockLease> next =
                two.acquireAsync(LockRequest.of("b").withMode(LockMode.FAIR).withWaitTime(Duration.ofSeconds(20)));
        Awaitility.await().until(() -> waiters(two, "b") == 2);
        b.release();
        LockLease both = set.get(10, TimeUnit.SECONDS);
        long tokenOfB = both.fencingToken("b");
        both.release();
        assertThat(next.get(10, TimeUnit.SECONDS).fencingToken()).isGreaterThan(tokenOfB);
    }

    /**
     * DESIGN 2: the first loss makes the lease LOST and frees the rest; here the rest is what was taken for this level.
     */
    @Test
    void theLossOfANameThatWasHeldBeforeFreesTheNamesThatWereTakenWithIt() throws Exception {
        LockTemplate one = instance(first.peer(), Duration.ofSeconds(30));
        LockTemplate two = instance(first.peer(), Duration.ofSeconds(30));
        one.run(
                "a",
                outer -> one.run(LockRequest.of("a", "b"), inner -> {
                    assertThat(two.inspector().forceRelease("a")).isTrue();
                    Awaitility.await().until(() -> !inner.isHeld());
                    assertThat(two.tryAcquire(LockRequest.of("b").withWaitTime(Duration.ofSeconds(4))))
                            .as("b, 4 s after the lease of a and b was lost")
                            .isPresent();
                }));
    }
}
