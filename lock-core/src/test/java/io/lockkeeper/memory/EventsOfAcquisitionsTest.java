/* SPDX-License-Identifier: Apache-2.0 */
package io.lockkeeper.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lockkeeper.DistributedReadWriteLock;
import io.lockkeeper.LockInterruptedException;
import io.lockkeeper.LockLease;
import io.lockkeeper.LockListener.Acquired;
import io.lockkeeper.LockListener.Asked;
import io.lockkeeper.LockListener.Body;
import io.lockkeeper.LockListener.Downgraded;
import io.lockkeeper.LockListener.GivenUp;
import io.lockkeeper.LockListener.Lost;
import io.lockkeeper.LockListener.NotAcquired;
import io.lockkeeper.LockListener.Released;
import io.lockkeeper.LockMode;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockTemplate;
import io.lockkeeper.ReleaseResult;
import io.lockkeeper.contract.RecordingListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What listeners hear of one acquisition from its beginning to its end, under one number. */
class EventsOfAcquisitionsTest {

    private final MemoryLockStore store = new MemoryLockStore();
    private final RecordingListener events = new RecordingListener();
    private final LockTemplate template =
            LockTemplate.builder(store).listener(events).build();
    private final LockTemplate other = LockTemplate.builder(store.peer()).build();

    @AfterEach
    void close() {
        template.close();
        other.close();
    }

    @Test
    void aBodyIsToldBetweenItsGrantAndItsRelease() {
        template.run("x", lease -> template.run("x", nested -> {}));
        assertThat(kinds()).containsExactly(Asked.class, Acquired.class, Body.class, Body.class, Released.class);
        long number = only(Asked.class).acquisition();
        assertThat(only(Acquired.class).acquisition()).isEqualTo(number);
        assertThat(events.events(Body.class)).containsOnly(new Body(number));
        assertThat(only(Released.class).acquisition()).isEqualTo(number);
    }

    @Test
    void theEndOfABodyIsToldOnItsThreadWhereverTheLeaseIsReleased() throws Exception {
        template.run("x", lease -> CompletableFuture.runAsync(lease::release).join());
        assertThat(kinds()).containsExactly(Asked.class, Acquired.class, Body.class, Released.class, Body.class);
    }

    @Test
    void aBodyOfSeveralLocksIsToldForTheAcquisitionThatWasMadeForIt() {
        template.run("x", lease -> template.run(LockRequest.of("x", "y"), both -> {}));
        List<Asked> asked = events.events(Asked.class);
        assertThat(asked.get(1).request().names()).containsExactly("y");
        assertThat(events.events(Body.class).get(1))
                .isEqualTo(new Body(asked.get(1).acquisition()));
    }

    @Test
    void aLeaseOfItsOwnHasNoBody() {
        template.acquire("x").close();
        assertThat(kinds()).containsExactly(Asked.class, Acquired.class, Released.class);
    }

    @Test
    void aCallerWhoFailsIsTold() {
        LockLease held = other.acquire("x");
        assertThat(template.tryAcquire("x")).isEmpty();
        assertThat(kinds()).containsExactly(Asked.class, NotAcquired.class);
        held.close();
    }

    @Test
    void aCallerWhoCameInterruptedIsTold() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> template.acquire("x")).isInstanceOf(LockInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(kinds()).containsExactly(Asked.class, NotAcquired.class);
    }

    @Test
    void aCallerWhoGivesUpIsToldAsSuch() {
        LockLease held = other.acquire("x");
        CompletableFuture<LockLease> waiting = template.acquireAsync(LockRequest.of("x"));
        assertThat(template.inspector().waitingHere()).singleElement().satisfies(wait -> assertThat(wait.names())
                .containsExactly("x"));

        waiting.cancel(true);

        Awaitility.await().until(() -> !events.events(GivenUp.class).isEmpty());
        assertThat(template.inspector().waitingHere()).isEmpty();
        assertThat(kinds()).containsExactly(Asked.class, GivenUp.class);
        held.close();
    }

    @Test
    void aLossIsToldOnceBeforeOrAfterTheRelease() {
        LockLease lease = template.acquire("x");
        other.inspector().forceRelease("x");
        Awaitility.await().until(() -> !lease.isHeld());
        assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
        Awaitility.await().until(() -> !events.events(Lost.class).isEmpty());
        assertThat(kinds()).containsExactlyInAnyOrder(Asked.class, Acquired.class, Lost.class, Released.class);
    }

    @Test
    void aDowngradeIsNoRelease() {
        DistributedReadWriteLock lock = template.readWriteLock("x");
        lock.writeLock().lock();
        lock.readLock().lock();
        lock.writeLock().unlock();
        assertThat(kinds()).containsExactly(Asked.class, Acquired.class, Downgraded.class);
        lock.readLock().unlock();
        assertThat(only(Downgraded.class).after().mode()).isEqualTo(LockMode.READ);
        assertThat(only(Released.class).acquisition())
                .isEqualTo(only(Asked.class).acquisition());
        assertThat(only(Released.class).request().mode()).isEqualTo(LockMode.READ);
    }

    @Test
    void retriesAreOneAcquisition() {
        LockLease held = other.acquire("x");
        LockRequest request = LockRequest.of("x").withRetries(2, Duration.ofMillis(5));
        assertThat(template.tryAcquire(request)).isEmpty();
        assertThat(kinds()).containsExactly(Asked.class, NotAcquired.class);
        held.close();
    }

    private List<Class<?>> kinds() {
        return events.events(Object.class).stream()
                .<Class<?>>map(Object::getClass)
                .toList();
    }

    private <T> T only(Class<T> kind) {
        assertThat(events.events(kind)).hasSize(1);
        return events.events(kind).get(0);
    }
}
